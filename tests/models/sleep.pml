// A device that sleeps, and senders that wake it (transport/shm/bell.hpp, progress.cpp, link.hpp; Worker::wait()).
// Every process stores through a buffer of its own, as x86 does: a store is seen by others when it leaves the
// buffer, some time later, in order; a process reads its own stores at once; a locked instruction and a fence
// wait until the buffer is empty. README.md says which step stands for what.
//
// holds      the device takes out what was published, and never sleeps on for good while something is there
//
// variant SENDERS_FENCE   where the system refuses membarrier: fences on both sides, and no membarrier
// mutant NO_MEMBARRIER    deadlock   only the sleeper fences: the look misses a record that is still in its
//                                    sender's buffer, and the sender has read the flag before
// mutant SENDERS_FENCE,NO_OWN_FENCE deadlock   the sleeper looks before its flag has left its buffer
// mutant NO_SECOND_LOOK   deadlock   the sleeper does not look again after it armed
// mutant RING_BEFORE      deadlock   a sender looks at the flag before it publishes
// mutant SILENCE_LATE     deadlock   the rings are taken out after the second look

#ifdef SENDERS_FENCE
#define NO_MEMBARRIER
#endif

#define SENDERS 2
#define RECORDS 2

/* Memory. Each sender has a window: how many records are visible in it. */
byte visible[SENDERS];
bool armed;
byte rings;                 /* datagrams in the socket; more than one tell no more than one */

/* Store buffers: a sender only stores records, the device only the flag. */
byte buffered[SENDERS];
chan flag = [3] of { bool };

byte taken[SENDERS];

/* Stores leave their buffers. */
active proctype Memory() {
  bool value;
end:
  do
  :: d_step { buffered[0] > 0 -> buffered[0]--; visible[0]++ }
  :: d_step { buffered[1] > 0 -> buffered[1]--; visible[1]++ }
  :: d_step { nempty(flag) -> flag?value; armed = value; value = 0 }
  od
}

#define fence_sender(me) buffered[me] == 0
#define fence_device empty(flag)

proctype Sender(byte me) {
  byte sent;
  bool saw;
  do
  :: sent < RECORDS ->
#ifdef RING_BEFORE
    saw = armed;
#endif
    d_step { buffered[me]++; sent++ } /* WindowSender::publish() */
    /* published() */
#ifdef SENDERS_FENCE
    fence_sender(me);
#endif
#ifndef RING_BEFORE
    saw = armed;
#endif
    if
    :: saw -> /* wake(): the exchange is a locked instruction */
      atomic { fence_sender(me) -> saw = armed; armed = false }
      if
      :: saw -> d_step { rings = 1; saw = false }
      :: else
      fi
    :: else
    fi
  :: else -> break
  od
}

/* peek() of a window; taking a record out is the device's own affair. */
inline poll() {
  d_step { found = visible[0] > taken[0]; taken[0] = visible[0] }
  d_step { found = found || visible[1] > taken[1]; taken[1] = visible[1] }
}

/* disarm(): a plain store, and a call of the system, which is no fence for it */
inline disarm() {
  flag!false;
  rings = 0
}

inline sleep() {
#ifdef SILENCE_LATE
  rings = 0;
#endif
  rings > 0
}

active proctype Device() {
  bool found;
  do
  :: poll();
    if
    :: found
    :: !found && taken[0] == RECORDS && taken[1] == RECORDS -> break
    :: !found && (taken[0] < RECORDS || taken[1] < RECORDS) ->
      flag!true; /* arm() */
#ifndef NO_OWN_FENCE
      fence_device;
#endif
#ifndef NO_MEMBARRIER
      (fence_sender(0) && fence_sender(1));
#endif
#ifndef NO_SECOND_LOOK
      if
      :: taken[0] == visible[0] && taken[1] == visible[1] -> sleep()
      :: else
      fi;
#else
      sleep();
#endif
      disarm()
    fi
  od
}

init {
  atomic {
    run Sender(0);
    run Sender(1)
  }
}
