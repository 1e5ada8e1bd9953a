// Counts the work of this process that continues without a timer: callbacks in the next turn of the
// event loop, and operations outside of it (files, compression, keys). A virtual clock advances
// when no such work is left (VirtualClock.settle), so tools/layers.test.ts rejects a bare
// setImmediate. The count is for the whole process: a clock may wait for the work of another
// cluster, which ends without that clock.

let pending = 0;

/** Returns the number of callbacks and operations that have not ended. */
export function pendingWork(): number {
  return pending;
}

/**
 * Calls `callback` in the next turn of the event loop. Returns a function that prevents the call;
 * after the call it has no effect.
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
 * Counts an operation outside of the event loop, until the returned function is called for the
 * first time.
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
