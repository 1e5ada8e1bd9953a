// Objects as they come from the API server's thread: JSON that is parsed when it is first needed.
// None of them keeps the bytes of its batch, whose buffer goes back (batch-memory.ts), but the items
// of a list, until they are prepared.

import { withoutManagedFields } from '#api/machinery/codec/without-managed-fields.ts';
import type { PartSharing } from './shared-parts.ts';
import type { StateMemo } from './state-memo.ts';

/** A received object, parsed on first use: few callers read the response to a write. */
export class ReceivedObject {
  #json: string | undefined;
  #object: unknown;

  constructor(json: string) {
    this.#json = json;
  }

  object(): unknown {
    if (this.#json !== undefined) {
      this.#object = this.parse(this.#json);
      this.#json = undefined;
    }
    return this.#object;
  }

  protected parse(json: string): unknown {
    return JSON.parse(json);
  }
}

/** How the objects that informers keep share memory. */
export interface ObjectSharing {
  readonly states: StateMemo;
  readonly parts: PartSharing;
}

/**
 * An object of a watch. Its managed fields, half of its size, are removed before it is parsed, as
 * those of a list.
 */
export class WatchedObject extends ReceivedObject {
  readonly #sharing: ObjectSharing;

  constructor(json: Buffer, sharing: ObjectSharing) {
    super(withoutManagedFields(json).toString());
    this.#sharing = sharing;
  }

  protected override parse(json: string): unknown {
    return this.#sharing.parts.share(super.parse(json) as object);
  }
}

/** An item of a list. */
export class ListedObject {
  #json: Buffer | undefined;
  readonly #sharing: ObjectSharing;
  readonly #state: number;
  #object: unknown;
  #error: unknown;

  /** `state`: the revision of its stored state. 0: it has none. */
  constructor(json: Buffer, sharing: ObjectSharing, state: number) {
    this.#json = json;
    this.#sharing = sharing;
    this.#state = state;
  }

  /**
   * Parses the object, so that its bytes are not needed any more. An error is thrown by object().
   */
  prepare(): void {
    if (this.#json === undefined) return;
    try {
      this.#object = this.#parse(this.#json);
    } catch (error) {
      this.#error = error;
    }
    this.#json = undefined;
  }

  object(): unknown {
    this.prepare();
    if (this.#error !== undefined) throw this.#error;
    return this.#object;
  }

  #parse(json: Buffer): unknown {
    const { states, parts } = this.#sharing;
    const parse = (): object =>
      parts.share(JSON.parse(withoutManagedFields(json).toString()) as object);
    return this.#state === 0 ? parse() : states.objectOf(this.#state, parse);
  }
}
