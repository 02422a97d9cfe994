// The inbox of the shm provider (transport/shm/inbox.hpp) with the peer slots that its records name
// (connector.cpp, peers.cpp). Several processes connect, say hello, send, and may be killed between any two
// steps; their numbers are used again. README.md says which step stands for what.
//
// holds      a living process's records are delivered once each, in order, under its own name; so are those
//            that a process the consumer knew published before it died; no death wedges the ring; no slot is
//            written by two
//
// mutant CLAIM_IN_HEAD    deadlock   a producer moves the head first, and then says in the slot that it is its
// mutant NO_HELP          deadlock   only the claimant moves the head
// mutant PASS_THE_LIVING  assertion  the consumer passes over a claimed slot whoever claimed it
// mutant HEAD_LAGS        deadlock   the consumer counts by the head alone, which a dead claimant did not move
// mutant FREE_UNDRAINED   deadlock   a number is given to others while the inbox has records that name it
// mutant NO_STRIKE        assertion  a record that was read out of its turn keeps its sender's number

#define SLOTS 2
#define PEERS 2      /* numbers, less than processes: so they are used again */
#define PROCESSES 3
#define last(p) ((p) == 0) /* records are 0, the hello, to that */
#define NOBODY 255

#define FREE 0
#define CLAIMED 1
#define READY 2

/* The segment. A slot's state is one word in memory: its three parts change together. */
byte head;
byte phase[SLOTS], peer[SLOTS], lap[SLOTS];
byte writer[SLOTS] = NOBODY, number[SLOTS];
byte slot_owner[PEERS] = NOBODY; /* init: processes 0 and 1 have theirs */

/* The consumer's own. */
byte tail;
byte link[PEERS] = NOBODY;

/* What only the properties see, but for alive: the file lock that the system holds for a process. */
bool alive[PROCESSES] = true;
byte published[PROCESSES], delivered[PROCESSES];

#define at(ticket) ((ticket) % SLOTS)
#define lap_of(ticket) ((ticket) / SLOTS)

inline move_head() {
  d_step { if :: head == ticket -> head++ :: else fi }
}

proctype Producer(byte me) {
  byte slot = NOBODY, ticket, n, seen_lap, seen_phase;
  {
    skip;
end_connect: /* claim_slot(); who comes third needs one that was given back */
    if
    :: me < PEERS -> slot = me
    :: d_step { me >= PEERS && slot_owner[0] == NOBODY -> slot = 0; slot_owner[0] = me }
    :: d_step { me >= PEERS && slot_owner[1] == NOBODY -> slot = 1; slot_owner[1] = me }
    fi;
    do
    :: n <= last(me) ->
claim:
      ticket = head;
      d_step { seen_lap = lap[at(ticket)]; seen_phase = phase[at(ticket)] }
      if
      :: seen_lap < lap_of(ticket) -> /* full: to ask again pays when something changed */
        (head != ticket || lap[at(ticket)] != seen_lap);
        goto claim
      :: seen_lap == lap_of(ticket) && seen_phase == FREE ->
#ifdef CLAIM_IN_HEAD
        atomic { if :: head == ticket -> head++ :: else -> goto claim fi }
        d_step { phase[at(ticket)] = CLAIMED; peer[at(ticket)] = slot }
#else
        atomic {
          if
          :: lap[at(ticket)] == seen_lap && phase[at(ticket)] == FREE ->
            phase[at(ticket)] = CLAIMED;
            peer[at(ticket)] = slot
          :: else -> goto help
          fi
        }
        move_head()
#endif
      :: else ->
help:
#if defined(NO_HELP) || defined(CLAIM_IN_HEAD)
        (head != ticket || lap[at(ticket)] != seen_lap);
#else
        move_head();
#endif
        goto claim
      fi;
      d_step { writer[at(ticket)] = me; number[at(ticket)] = n }
      d_step {
        assert(phase[at(ticket)] == CLAIMED && peer[at(ticket)] == slot && lap[at(ticket)] == lap_of(ticket));
        phase[at(ticket)] = READY;
        published[me]++;
        n++;
        ticket = 0; seen_lap = 0; seen_phase = 0 /* what is not used any more shall not tell states apart */
      }
    :: else -> break
    od;
    delivered[me] == last(me) + 1 /* or this process waits for ever: a deadlock to the checker */
  } unless { atomic { !alive[me] -> slot = 0; ticket = 0; n = 0; seen_lap = 0; seen_phase = 0 } }
}

proctype Killer() {
end:
  do
  :: d_step { alive[0] -> alive[0] = false }
  :: d_step { alive[1] -> alive[1] = false }
  od
}

#define here (lap[at(tail)] == lap_of(tail))
#define is_ready (here && phase[at(tail)] == READY)
#define is_claimed (here && phase[at(tail)] == CLAIMED)
/* not Peers::may_write() */
#define gone(p) (link[p] != NOBODY && !alive[link[p]] || \
                 link[p] == NOBODY && (slot_owner[p] == NOBODY || !alive[slot_owner[p]]))

#ifdef HEAD_LAGS
#define waiting (head - tail)
#else
/* The head may lag behind one claim. */
#define waiting (head - tail + (lap[at(head)] == lap_of(head) && phase[at(head)] != FREE))
#endif

inline take() {
  d_step {
    phase[at(tail)] = FREE;
    peer[at(tail)] = 0;
    writer[at(tail)] = NOBODY;
    number[at(tail)] = 0;
    lap[at(tail)] = lap_of(tail) + 1;
    tail++
  }
}

/* The phase was READY: poll_inbox() from accept() on. A dead process cannot be attached to. */
inline deliver() {
  p = peer[at(tail)];
  d_step {
    if
    :: p != NOBODY && link[p] == NOBODY && slot_owner[p] != NOBODY && alive[slot_owner[p]] ->
      link[p] = slot_owner[p]
    :: else
    fi
  }
  d_step {
    if
    :: p == NOBODY
    :: p != NOBODY && link[p] != NOBODY ->
      assert(link[p] == writer[at(tail)]);
      assert(number[at(tail)] == delivered[link[p]]);
      delivered[link[p]]++
    :: p != NOBODY && link[p] == NOBODY -> assert(!alive[writer[at(tail)]])
    fi;
    p = 0
  }
  take()
}

#define place at(tail + i)
#define is_of(q) (lap[place] == lap_of(tail + i) && phase[place] != FREE && peer[place] == q)

/* What the dead q left is taken out, whoever stands before it: drain_inbox(). One step, because nobody else
 * writes where q's number is, and of the head only one value is read. */
inline drain(q) {
  d_step {
    i = 0;
    upto = waiting;
    do
    :: i < upto ->
      if
      :: is_of(q) ->
        if
        :: phase[place] == READY && link[q] != NOBODY ->
          assert(link[q] == writer[place]);
          assert(number[place] == delivered[link[q]]);
          delivered[link[q]]++
        :: else
        fi;
#ifdef NO_STRIKE
        if
        :: phase[place] == READY
        :: else -> phase[place] = READY; peer[place] = NOBODY
        fi
#else
        phase[place] = READY;
        peer[place] = NOBODY;
        writer[place] = NOBODY;
        number[place] = 0
#endif
      :: else
      fi;
      i++
    :: else -> break
    od;
    i = 0;
    upto = 0
  }
}

#define link_died(q) (link[q] != NOBODY && !alive[link[q]])
#define is_new(q) (link[q] == NOBODY && slot_owner[q] != NOBODY)

inline check_link(q) {
  drain(q);
  d_step {
    assert(delivered[link[q]] == published[link[q]]);
    link[q] = NOBODY;
    slot_owner[q] = NOBODY
  }
}

inline forget(q) {
#ifndef FREE_UNDRAINED
  drain(q);
#endif
  slot_owner[q] = NOBODY
}

proctype Consumer() {
  byte p, i, upto;
end:
  do
  /* poll_inbox() */
  :: is_ready -> deliver()
#ifdef PASS_THE_LIVING
  :: is_claimed -> take()
#else
  :: is_claimed && gone(peer[at(tail)]) -> take()
#endif
  /* check(), when it can change anything */
  :: link_died(0) -> check_link(0)
  :: link_died(1) -> check_link(1)
  /* look_at_slots(): processes whose hello has not come yet */
  :: is_new(0) && !alive[slot_owner[0]] -> forget(0)
  :: is_new(1) && !alive[slot_owner[1]] -> forget(1)
  :: d_step { is_new(0) && alive[slot_owner[0]] -> link[0] = slot_owner[0] }
  :: d_step { is_new(1) && alive[slot_owner[1]] -> link[1] = slot_owner[1] }
  od
}

init {
  atomic {
    slot_owner[0] = 0;
    slot_owner[1] = 1;
    run Producer(0);
    run Producer(1);
    run Producer(2);
    run Killer();
    run Consumer()
  }
}
