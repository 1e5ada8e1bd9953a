// The faults that are in force, and the handle of each.

/** A fault that was added. It ends by itself after `count` times. */
export interface Fault {
  /** 'fail 409 {"kind":"Pod","verb":"write"}' */
  readonly description: string;
  /** How often it has happened. */
  readonly hits: number;
  readonly active: boolean;
  /** Ends the fault: what it holds back goes on. Idempotent. */
  end(): void;
}

export class ActiveFault implements Fault {
  readonly description: string;
  readonly #onEnd: (fault: ActiveFault) => void;
  readonly #undo: (() => void)[] = [];
  readonly #ended: (() => void)[] = [];
  #active = true;
  hits = 0;

  constructor(description: string, onEnd: (fault: ActiveFault) => void) {
    this.description = description;
    this.#onEnd = onEnd;
  }

  get active(): boolean {
    return this.#active;
  }

  /** Called when the fault ends; at once if it has. */
  onEnd(undo: () => void): void {
    if (this.#active) this.#undo.push(undo);
    else undo();
  }

  /** Resolves when the fault ends, or the signal aborts. */
  ended(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#active || signal.aborted) {
        resolve();
        return;
      }
      signal.addEventListener('abort', () => resolve(), { once: true });
      this.#ended.push(resolve);
    });
  }

  end(): void {
    if (!this.#active) return;
    this.#active = false;
    for (const undo of this.#undo.splice(0)) undo();
    for (const resolve of this.#ended.splice(0)) resolve();
    this.#onEnd(this);
  }
}
