// Objects as they come from the API server's thread: JSON that is parsed when it is first needed.

import { withoutManagedFields } from '#api/machinery/codec/without-managed-fields.ts';
import type { PartSharing } from './shared-parts.ts';
import type { StateMemo } from './state-memo.ts';

/** A received object, parsed on first use: few callers read the response to a write. */
export class ReceivedObject {
  #json: Buffer | undefined;
  #object: unknown;

  constructor(json: Buffer) {
    this.#json = json;
  }

  /**
   * Parses the object, so that its bytes are not needed any more. An error is thrown by object().
   */
  prepare(): void {
    try {
      this.object();
    } catch {
      // The bytes stay, and are parsed again for the caller.
    }
  }

  object(): unknown {
    if (this.#json !== undefined) {
      this.#object = this.parse(this.#json);
      this.#json = undefined;
    }
    return this.#object;
  }

  protected parse(json: Buffer): unknown {
    return JSON.parse(json.toString());
  }
}

/** How the objects that informers keep share memory. */
export interface ObjectSharing {
  readonly states: StateMemo;
  readonly parts: PartSharing;
}

/**
 * An object of a list or a watch. Its managed fields, half of its size, are removed before it is
 * parsed.
 */
export class KeptObject extends ReceivedObject {
  readonly #sharing: ObjectSharing;
  readonly #state: number;

  /** `state`: the number of its stored state. 0: it has none. */
  constructor(json: Buffer, sharing: ObjectSharing, state = 0) {
    super(json);
    this.#sharing = sharing;
    this.#state = state;
  }

  protected override parse(json: Buffer): unknown {
    const { states, parts } = this.#sharing;
    const parse = (): object => parts.share(super.parse(withoutManagedFields(json)) as object);
    return this.#state === 0 ? parse() : states.objectOf(this.#state, parse);
  }
}
