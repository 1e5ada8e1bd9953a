// The work of this process that goes on without a timer: callbacks in the next turn of the event
// loop, and operations outside of it (files, compression, keys). A virtual clock moves on when none
// is left (VirtualClock.settle), so all such work is counted here: tools/layers.test.ts rejects a
// bare setImmediate. The count is of the process. A clock may wait for the work of another cluster,
// which ends by itself.

let pending = 0;

/** Returns how many callbacks and operations have not come to their end. */
export function pendingWork(): number {
  return pending;
}

/**
 * Calls back in the next turn of the event loop. Returns a function that prevents it; after the
 * call it does nothing.
 */
export function inNextTurn(callback: () => void): () => void {
  pending++;
  let waits = true;
  const end = (): void => {
    waits = false;
    pending--;
  };
  const handle = setImmediate(() => {
    end();
    callback();
  });
  return () => {
    if (!waits) return;
    end();
    clearImmediate(handle);
  };
}

/**
 * Counts an operation outside of the event loop, from now to the first call of the function that it
 * returns.
 */
export function beginWork(): () => void {
  pending++;
  let ended = false;
  return () => {
    if (!ended) pending--;
    ended = true;
  };
}

/** Counts an operation outside of the event loop until its promise settles. Returns the promise. */
export function outsideWork<T>(operation: Promise<T>): Promise<T> {
  const end = beginWork();
  operation.then(end, end);
  return operation;
}
