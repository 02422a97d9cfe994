// A device that sleeps, and senders that wake it (transport/shm/wakeup.hpp, device.cpp, outgoing.hpp; Worker::wait()).
// Every process stores through a buffer of its own, as x86 does: a store is seen by others when it leaves the
// buffer, some time later, in order; a process reads its own stores at once; a locked instruction and a fence
// wait until the buffer is empty. README.md says which step stands for what.
//
// holds      the device takes out what was published, and never sleeps on for good while something of a living
//            sender is there; sender 0 may be killed between any two steps
//
// variant SENDERS_FENCE   where the system refuses membarrier: fences on both sides, and no membarrier
// mutant NO_MEMBARRIER    deadlock   only the sleeper fences: the look misses a record that is still in its
//                                    sender's buffer, and the sender has read the flag before
// mutant SENDERS_FENCE,NO_OWN_FENCE deadlock   the sleeper looks before its flag has left its buffer
// mutant NO_SECOND_LOOK   deadlock   the sleeper does not look again after it armed
// mutant NOTIFY_BEFORE      deadlock   a sender looks at the flag before it publishes
// mutant CLEAR_LATE     deadlock   the datagrams are taken out after the second look
// mutant TAKE_THEN_NOTIFY   deadlock   a sender takes the flag away and then notifies: one that dies in between has
//                                    kept the others from it
// mutant CLEAR_ANY        deadlock   a sender clears the flag whatever sleep it is of

#ifdef SENDERS_FENCE
#define NO_MEMBARRIER
#endif

#define SENDERS 2
#define RECORDS 2

/* Memory. Each sender has a window: how many records are visible in it. */
byte visible[SENDERS];
byte armed;                 /* the number of the sleep */
byte datagrams;                 /* datagrams in the socket; more than one tell no more than one */

/* Store buffers: a sender only stores records, the device only the flag. */
byte buffered[SENDERS];
chan flag = [3] of { byte };

byte taken[SENDERS];
bool alive[SENDERS] = true;

/* Stores leave their buffers. */
active proctype Memory() {
  byte value;
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
  byte sent, saw;
  {
    do
    :: sent < RECORDS ->
#ifdef NOTIFY_BEFORE
      saw = armed;
#endif
      d_step { buffered[me]++; sent++ } /* WindowSender::publish() */
      /* published() */
#ifdef SENDERS_FENCE
      fence_sender(me);
#endif
#ifndef NOTIFY_BEFORE
      saw = armed;
#endif
      if
      :: saw != 0 -> /* notify(): the compare-and-swap is a locked instruction */
#ifdef TAKE_THEN_NOTIFY
        atomic { fence_sender(me) -> saw = armed; armed = 0 }
        if
        :: saw != 0 -> datagrams = 1
        :: else
        fi;
#else
        datagrams = 1;
        atomic {
          fence_sender(me) ->
          if
#ifdef CLEAR_ANY
          :: armed = 0
#else
          :: armed == saw -> armed = 0
          :: else
#endif
          fi
        }
#endif
        saw = 0
      :: else
      fi
    :: else -> break
    od
  } unless { atomic { !alive[me] -> sent = 0; saw = 0 } }
}

active proctype Killer() {
end:
  do
  :: d_step { alive[0] -> alive[0] = false }
  od
}

#define all_done ((taken[0] == RECORDS || !alive[0]) && (taken[1] == RECORDS || !alive[1]))

/* peek() of a window; taking a record out is the device's own affair. */
inline poll() {
  d_step { found = visible[0] > taken[0]; taken[0] = visible[0] }
  d_step { found = found || visible[1] > taken[1]; taken[1] = visible[1] }
}

/* disarm(): a plain store, and a call of the system, which is no fence for it */
inline disarm() {
  flag!0;
  datagrams = 0
}

inline sleep() {
#ifdef CLEAR_LATE
  datagrams = 0;
#endif
  if
  :: datagrams > 0
  :: all_done /* whoever is left is dead: Worker::wait() wakes now and then */
  fi
}

active proctype Device() {
  bool found;
  byte number;
  do
  :: poll();
    if
    :: found
    :: !found && all_done -> break
    :: !found && !all_done ->
      number++;
      flag!number; /* arm() */
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
