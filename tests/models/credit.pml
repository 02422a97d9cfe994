// Credit for unexpected payload (eager/credit.hpp, send.hpp, receive.hpp; tag/deliver.cpp): two senders and one
// receiver, which asks for the messages of a sender last first. Units of 32 KiB; README.md says which step
// stands for what.
//
// holds      what is held, and what may still come, take no more memory than the budget and the first grants
//            of all senders but one; no message comes that its sender had no credit for; both sides count the
//            same; the receiver gets what it asks for
//
// variant POOR             the budget is less than the first grants
// mutant WAIT              deadlock   a sender without credit waits for it instead of announcing
// mutant NARROW_LIMIT      assertion  (the property, not the protocol) the budget alone is the bound
// mutant NO_BUDGET         assertion  senders are topped up without a look at the budget
// mutant HOLD_PAYLOAD      assertion  of what comes, its payload is held, not the most that a buffer takes for it
// mutant DUE_TWICE         assertion  credit stays due although its packet is out
// mutant COUNT_LATE        assertion  the receiver takes a message off the grant when it is received, not when it comes

#define SENDERS 2
#define MESSAGES 3
#define FIRST 2           /* kFirstGrant */
#define MOST 2            /* kMostPerByte */
#define TARGET 3          /* what a sender may have outstanding */
#ifdef POOR
#define BUDGET 6
#define LIMIT (SENDERS * MOST * FIRST)
#else
#define BUDGET 10
#ifdef NARROW_LIMIT
#define LIMIT BUDGET
#else
#define LIMIT (BUDGET + (SENDERS - 1) * MOST * FIRST)
#endif
#endif
#define ANNOUNCED 0       /* a message of which only the header came */

chan data[SENDERS] = [2] of { byte };    /* matchable packets: payload, or ANNOUNCED */
chan grants[SENDERS] = [2] of { byte };  /* CREDIT packets */

byte credit[SENDERS] = FIRST;            /* Peer::credit, at the sender */
byte outstanding[SENDERS] = FIRST;       /* Grant, at the receiver */
byte held[SENDERS];
byte due[SENDERS];
byte committed = SENDERS * MOST * FIRST; /* Budget */

/* Payload and credit under way, and the memory buffers really take: only the properties see these. */
byte sent[SENDERS], granted[SENDERS], memory;

#define counts_agree(s) (outstanding[s] == credit[s] + sent[s] + granted[s] + due[s])

proctype Sender(byte me) {
  byte i, size, more;
  for (i : 1 .. MESSAGES) {
    if
    :: size = 1
    :: size = 2
    fi;
    do
    :: d_step { grants[me]?more -> credit[me] = credit[me] + more; granted[me] = granted[me] - more; more = 0 }
    :: d_step { /* send_eager() */
        credit[me] >= size && nfull(data[me]) ->
        data[me]!size;
        credit[me] = credit[me] - size;
        sent[me] = sent[me] + size;
        size = 0
      }
      break
#ifndef WAIT
    :: d_step { credit[me] < size && nfull(data[me]) -> data[me]!ANNOUNCED; size = 0 }
      break
#endif
    od
  }
end:
  do
  :: d_step { grants[me]?more -> credit[me] = credit[me] + more; granted[me] = granted[me] - more; more = 0 }
  od
}

/* Budget::top_up(), with the channel of CREDIT packets behind it: due waits for room there */
inline top_up(s) {
    room = (BUDGET > committed -> BUDGET - committed : 0);
    own = MOST * outstanding[s] + held[s];
    own = (own < MOST * FIRST -> MOST * FIRST - own : 0);
#ifdef NO_BUDGET
    room = MOST * TARGET;
#endif
    more = (room > own -> room : own) / MOST;
    more = (outstanding[s] >= TARGET -> 0 : (more < TARGET - outstanding[s] -> more : TARGET - outstanding[s]));
    if
    :: outstanding[s] <= TARGET / 2 && more >= FIRST / 2 ->
      outstanding[s] = outstanding[s] + more;
      due[s] = due[s] + more;
      committed = committed + MOST * more
    :: else
    fi;
    room = 0; own = 0; more = 0;
    assert(committed <= LIMIT && memory <= committed);
    assert(counts_agree(s))
}

#define slot(message) (s * MESSAGES + (message))

/* arrived(), kept(); release() */
#ifdef HOLD_PAYLOAD
#define held_for(size, took) (size)
#else
#define held_for(size, took) (took)
#endif
inline hold(s, size, took) {
  held[s] = held[s] + held_for(size, took);
  committed = committed + held_for(size, took)
}
inline let_go(s, size, took) {
  assert(held[s] >= held_for(size, took) && committed >= held_for(size, took));
  held[s] = held[s] - held_for(size, took);
  committed = committed - held_for(size, took)
}

proctype Receiver() {
  byte s, size, took, room, own, more;
  byte came[SENDERS], wants[SENDERS] = MESSAGES;
  byte bytes[SENDERS * MESSAGES], buffer[SENDERS * MESSAGES];
  do
  /* deliver(): it is counted, and kept in a buffer that takes once to twice its bytes, or in none */
  :: atomic {
      if
      :: nempty(data[0]) -> s = 0; data[0]?size
      :: nempty(data[1]) -> s = 1; data[1]?size
      fi;
      assert(size <= outstanding[s]);
      sent[s] = sent[s] - size;
      committed = committed - MOST * size;
#ifdef COUNT_LATE
      committed = committed + MOST * size;
#else
      outstanding[s] = outstanding[s] - size;
#endif
      if
      :: took = MOST * size
      :: took = size
      :: size == 1 -> took = 0
      fi;
      bytes[slot(came[s])] = size;
      buffer[slot(came[s])] = took;
      memory = memory + took;
      hold(s, size, took);
      came[s]++;
      top_up(s);
      size = 0; took = 0; s = 0
    }
  /* The receive of the last message that was not received yet. What is matched on arrival is a message that
     is asked for at once. */
  :: atomic {
      if
      :: wants[0] > 0 && came[0] >= wants[0] -> s = 0
      :: wants[1] > 0 && came[1] >= wants[1] -> s = 1
      fi;
      wants[s]--;
      took = buffer[slot(wants[s])];
      size = bytes[slot(wants[s])];
#ifdef COUNT_LATE
      outstanding[s] = outstanding[s] - size;
      committed = committed - MOST * size;
#endif
      memory = memory - took;
      let_go(s, size, took);
      buffer[slot(wants[s])] = 0;
      bytes[slot(wants[s])] = 0;
      top_up(s);
      size = 0; took = 0; s = 0
    }
  :: atomic { /* flush() */
      if
      :: due[0] > 0 && nfull(grants[0]) -> s = 0
      :: due[1] > 0 && nfull(grants[1]) -> s = 1
      fi;
      grants[s]!due[s];
      granted[s] = granted[s] + due[s];
#ifndef DUE_TWICE
      due[s] = 0;
#endif
      assert(counts_agree(s));
      s = 0
    }
  :: wants[0] == 0 && wants[1] == 0 -> break
  od
}

init {
  atomic {
    run Sender(0);
    run Sender(1);
    run Receiver()
  }
}
