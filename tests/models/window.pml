// The window of the shm provider (transport/shm/window.hpp): a ring of lines that one sender writes and one
// receiver polls, in which nothing is cleared but what a rule of the sender demands. Sender and receiver run
// for ever: positions are counted modulo two laps. README.md says which step stands for what.
//
// holds      the receiver takes what was sent, whole, in order, each record once, and nothing else for a
//            record; both always get on
//
// One place is watched in a run, any: there words stay until they are written over. Elsewhere they become 0
// when they are taken out. As a wrong belief begins at one place, this hides none.
//
// variant LONG            records of half a line and of three lines, in a ring of seven
// mutant NO_CAREFUL       assertion  payload that reads as the next lap's control word is not minded
// mutant NO_LINE_ANEW     assertion  a line in which no payload comes to lie keeps its old first word
// variant SKIP            the sender may end a lap in the middle, with a pad for the second half
// mutant LONG,NO_PAD_ANEW      assertion  the lines behind that of a pad record's control word keep theirs
// mutant SKIP,NO_PAD_ANEW      assertion  so do those of the half that is skipped
// mutant LONG,CLEAN_AT_END     assertion  what a pad cleared at the end of the ring counts as clear in the laps after it
// mutant SKIP,CLEAN_FOREVER    assertion  what was cleared once counts as clear although records came to lie there
// mutant NO_OTHER_HALF    assertion  a record of half a line does not clear the word of the other half
// mutant NO_FREE_LINE     deadlock   the sender fills the window to the last line, and clears what is not read yet
// mutant PUBLISH_FIRST    assertion  the control word is stored before the payload
// mutant CREDIT_FIRST     assertion  the receiver gives credit back for what it has not read yet
// mutant NO_LAST_CREDIT   deadlock   the receiver that finds nothing more keeps the credits of its batch

/* Half lines: room for the longest record, what it may leave of the ring and of a line, and the free line. */
#ifdef LONG
#define LONGEST 6
#define SIZE 14
#else
#define LONGEST 4
#define SIZE 10
#endif
#define LAPS 2           /* a word of two laps ago reads as one of this lap: the most hostile number */
#define ALL (LAPS * SIZE)
#define STALE 15         /* content of no record that is under way */
#define NUMBERS 2        /* records are numbered modulo that */

/* A first word: 0, or lap and code. Codes are records of one, two and LONGEST halves, pads of one and of all that
   is left of the ring. */
#define word_of(lap, code) ((lap) * 8 + (code))
#define is_of_lap(word, lap) ((word) / 8 == (lap))
#define code_of(word) ((word) % 8)
#define HALF 1
#define LINE 2
#define LINES 3
#define PAD_HALF 4
#define PAD_REST 5
#define halves_of(code, at) ((code) == LINES -> LONGEST : ((code) == PAD_REST -> SIZE - place(at) : \
                             ((code) == LINE -> 2 : 1)))

byte first[SIZE];           /* the first word of each half: what may be taken for a control word */
byte rest[SIZE] = STALE;    /* all other bytes of it: the number of the record they belong to */
byte watched;
byte consumed;              /* position, modulo ALL */

byte under_way;             /* records and pads published and not taken out: only the properties see it */

#define place(position) ((position) % SIZE)
#define distance(from, to) (((to) + ALL - (from)) % ALL)
#define next_lap(lap) ((lap) == LAPS -> 1 : (lap) + 1)

/* What has to be free for a record of n halves: itself, the other half of a line, what is left of the ring. */
#define half_left (head % 2 == 1 && n != 1 -> 1 : 0)
#define after_half place(head + half_left)
#define MIDDLE (SIZE / 4 * 2)
#define turn (n == LONGEST -> MIDDLE + 4 : MIDDLE) /* later for long records */
#define ring_left (after_half + n > SIZE || cut -> SIZE - after_half : 0)
#define needed (half_left + ring_left + n)
#ifdef NO_FREE_LINE
#define SPARE 0
#else
#define SPARE 2
#endif
#define freed (SIZE - SPARE - distance(consumed - consumed % 2, head))

/* pio_send(), eager_send(): number and payload, in any order. What the payload reads as where a half begins
   is nothing, or a control word of any lap. */
inline write_record() {
  select(payload : 0 .. (n == 1 -> 0 : LAPS));
  skip; /* a d_step is not jumped into */
  d_step {
    for (i : 0 .. n - 1) {
      rest[place(head + i)] = number;
      if
      :: i > 0 && payload != 0 ->
        first[place(head + i)] = (place(head + i) == watched -> word_of(payload, HALF) : 0);
#ifndef NO_CAREFUL
        if
        :: i % 2 == 0 && payload == next_lap(lap) -> careful = i + SIZE /* wrote_line() */
        :: else
        fi
#endif
#ifndef NO_LINE_ANEW
      :: i > 0 && i % 2 == 0 && payload == 0 -> first[place(head + i)] = 0 /* clear_last_word() */
#endif
      :: else
      fi
    }
    i = 0;
    payload = 0
  }
}

/* publish(), what comes before the control word */
inline clear_behind() {
  d_step {
    next = head + halves_of(code, head);
    careful = (careful >= next - head -> careful - (next - head) : -1);
    if
#ifndef NO_OTHER_HALF
    :: next % 2 == 1 -> first[place(next)] = 0
#endif
    :: careful >= 0 -> first[place(next)] = 0
    :: else
    fi
  }
}

proctype Sender() {
  byte head, next, lap = 1, number, n, code, payload, i;
  byte clean = SIZE; /* from this half on no line begins with a control word */
  bool cut;
  short careful = -1;
  do
  :: atomic { /* up to the store of a control word, in which all the stores before become visible */
      if
      :: n == 0 ->
        if
        :: n = 1
#ifndef LONG
        :: n = 2
#endif
        :: n = LONGEST
        fi;
#ifdef SKIP
        if
        :: after_half <= turn && after_half + n > turn && freed >= half_left + SIZE - after_half + n -> cut = true /* may_skip() */
        :: cut = false
        fi;
#endif
        freed >= needed /* has_room(), make_room() */
      :: else /* after a pad */
      fi;
      if
      :: half_left == 1 -> code = PAD_HALF
      :: half_left == 0 && ring_left != 0 ->
        code = PAD_REST;
        d_step {
          next = place(head) + 2;
#ifndef NO_PAD_ANEW
          for (i : next .. clean - 1) {
            if
            :: i % 2 == 0 -> first[i] = 0
            :: else
            fi
          }
          i = 0;
#endif
#ifdef CLEAN_AT_END
          clean = next;
#else
          clean = (cut -> next : SIZE);
#endif
          cut = false
        }
      :: half_left == 0 && ring_left == 0 ->
#if defined(SKIP) && !defined(CLEAN_FOREVER) /* all records that pass the turn come by here */
        clean = (after_half + n > turn -> SIZE : clean);
#endif
        code = (n == LONGEST -> LINES : n);
#ifndef PUBLISH_FIRST
        write_record()
#endif
      fi;
      clear_behind()
    }
    d_step {
      first[place(head)] = word_of(lap, code);
      under_way++;
#ifdef PUBLISH_FIRST
    }
    atomic {
      if
      :: code < PAD_HALF -> write_record()
      :: else
      fi
    }
    d_step {
#endif
      head = (head + halves_of(code, head)) % ALL;
      next = 0;
      if
      :: place(head) == 0 -> lap = next_lap(lap)
      :: else
      fi;
      if
      :: code < PAD_HALF -> n = 0; number = (number + 1) % NUMBERS
      :: else
      fi;
      code = 0
    }
  od
}

proctype Receiver() {
  byte position, lap = 1, number, code, i;
  do
  :: atomic {
      is_of_lap(first[place(position)], lap) -> /* peek() */
      code = code_of(first[place(position)]);
      assert(under_way > 0)
    }
#ifdef CREDIT_FIRST
    consumed = (position + halves_of(code, position)) % ALL;
#endif
    d_step { /* poll_window() reads it where it lies; advance(). Then it is nothing to anybody. */
      for (i : 0 .. halves_of(code, position) - 1) {
        assert(code >= PAD_HALF || rest[place(position + i)] == number);
        rest[place(position + i)] = STALE;
        if /* of what stays only the lap tells */
        :: place(position + i) == watched ->
          first[watched] = (first[watched] == 0 -> 0 : word_of(first[watched] / 8, HALF))
        :: else -> first[place(position + i)] = 0
        fi
      }
      i = 0;
      if
      :: code < PAD_HALF -> number = (number + 1) % NUMBERS
      :: else
      fi;
      under_way--;
      position = (position + halves_of(code, position)) % ALL;
      code = 0;
      if
      :: place(position) == 0 -> lap = next_lap(lap)
      :: else
      fi
    }
    /* A quarter of the window that is due gives credits back, and so does the end of a batch. */
    if
    :: consumed = position
    :: distance(consumed, position) <= SIZE / 4
    fi
#ifndef NO_LAST_CREDIT
  :: !is_of_lap(first[place(position)], lap) && consumed != position -> consumed = position
#endif
  od
}

init {
  atomic {
    select(watched : 0 .. SIZE - 1);
    run Sender();
    run Receiver()
  }
}
