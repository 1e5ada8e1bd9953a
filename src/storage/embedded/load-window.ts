// Keeps the worker from reading the disk faster than the main thread takes the rows: what waits
// between them is in memory.

/** The most pieces that wait. A piece has up to 256 KiB. */
const MAX_WAITING = 32;

/** The number of pieces that the main thread has taken, in memory that both threads share. */
export type TakenPieces = Int32Array<SharedArrayBuffer>;

export function newTakenPieces(): TakenPieces {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** Called by the main thread after each piece. */
export function pieceTaken(taken: TakenPieces): void {
  Atomics.add(taken, 0, 1);
  Atomics.notify(taken, 0);
}

/** Blocks the worker while too many of the pieces that it has sent wait. */
export function awaitRoom(taken: TakenPieces, sent: number): void {
  for (;;) {
    const count = Atomics.load(taken, 0);
    if (sent - count < MAX_WAITING) return;
    Atomics.wait(taken, 0, count);
  }
}
