// Writes whose outcome is always found out.
//
// A transaction that is sent may go unanswered, and then nobody knows whether it was carried out, or still will be: it may wait
// in a member that was cut off. To send it again blindly could write twice; to look at the key is not enough either, since
// others write the same key, even the same value. So every transaction also writes a **slot**, a key of this process alone,
// under the condition that the slot is as this process left it. When an answer is missing, the slot is written again under the
// same condition, a **fence**: if that succeeds, the transaction was not carried out and never will be, since its condition cannot
// hold any more. If it fails, the slot says who was there first.
//
// A slot serves one transaction at a time; there are as many as there are transactions under way. They have a lease, so that
// nothing stays of a process that is gone. A slot that has disappeared is never used again: with it a condition would be gone.

import type { Clock } from '#machinery/clock.ts';
import { StorageError } from '../interface.ts';
import type { EtcdConnection } from './connection.ts';
import { detailsOf, failureKind, storageErrorOf } from './errors.ts';
import type { LeasePool } from './leases.ts';
import type { EtcdKeyValue, RequestOp, TxnRequest, TxnResponse } from './schema.ts';

/** One change of one key, if the key is as it was seen. */
export interface Write {
  readonly key: Uint8Array;
  /** 0: the key must not exist. */
  readonly expectedRevision: number;
  /** Undefined: delete. */
  readonly value: Uint8Array | undefined;
  readonly ttlMs: number | undefined;
}

export type WriteOutcome =
  | { readonly written: true; readonly revision: number }
  /** Another write was first; `current` is the present state of the key. */
  | {
      readonly written: false;
      readonly current: EtcdKeyValue | undefined;
      readonly revision: number;
    };

export interface WriterConfig {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly leases: LeasePool;
  /** The key of the slot with this number. */
  readonly slotKey: (number: number) => Uint8Array;
  /** How long to go on finding out what became of a transaction. Default: 30 s. */
  readonly settleMs?: number;
}

interface Slot {
  readonly key: Uint8Array;
  /** Its revision when it was last seen; 0: it has not been written yet. */
  revision: number;
}

const SLOT_TTL_MS = 3_600_000;
const SETTLE_MS = 30_000;
const SETTLE_PAUSE_MS = 100;
const BUSY_ATTEMPTS = 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Writer {
  readonly #config: WriterConfig;
  /** Slots that are not in use. */
  readonly #free: Slot[] = [];
  #slots = 0;
  #lastMark = 0;
  #unsettled = 0;

  constructor(config: WriterConfig) {
    this.#config = config;
  }

  /** Transactions whose answer was missing, since the start. */
  get unsettled(): number {
    return this.#unsettled;
  }

  /** Throws StorageError: NoSpace (not written), Unavailable (not written, or not to be found out: the message says which), Closed. */
  async write(write: Write): Promise<WriteOutcome> {
    const slot = this.#free.pop() ?? { key: this.#config.slotKey(this.#slots++), revision: 0 };
    // Only a slot whose state is known is used again.
    const outcome = await this.#withSlot(slot, write);
    return outcome;
  }

  async #withSlot(slot: Slot, write: Write): Promise<WriteOutcome> {
    const { connection, leases, clock } = this.#config;
    for (let attempt = 1; ; attempt++) {
      const mark = `w${++this.#lastMark}`;
      let ttlLease: number | undefined;
      let slotLease: number;
      try {
        slotLease = await leases.leaseFor(SLOT_TTL_MS);
        if (write.ttlMs !== undefined) ttlLease = await leases.leaseFor(write.ttlMs);
      } catch (error) {
        this.#free.push(slot);
        throw storageErrorOf(error);
      }
      let response: TxnResponse;
      try {
        response = await connection.send(
          'KV.Txn',
          transaction(slot, write, mark, slotLease, ttlLease),
        );
      } catch (error) {
        const kind = failureKind(error);
        if (error instanceof StorageError) throw error;
        if (kind === 'unknown') {
          const revision = await this.#settle(slot, mark, error);
          if (revision === undefined) continue;
          this.#free.push(slot);
          return { written: true, revision };
        }
        if (kind === 'no-lease' && attempt < BUSY_ATTEMPTS) {
          await leases.forget(SLOT_TTL_MS, slotLease);
          if (write.ttlMs !== undefined && ttlLease !== undefined)
            await leases.forget(write.ttlMs, ttlLease);
          continue;
        }
        if (kind === 'busy' && attempt < BUSY_ATTEMPTS) {
          await clock.sleep(SETTLE_PAUSE_MS * attempt);
          continue;
        }
        this.#free.push(slot);
        throw storageErrorOf(error);
      }
      const { revision } = response.header;
      if (response.succeeded) {
        slot.revision = revision;
        this.#free.push(slot);
        return { written: true, revision };
      }
      const [current, found] = response.responses.map((each) => each.range?.kvs[0]);
      if ((found?.modRevision ?? 0) !== slot.revision) {
        // Its lease is over (this process slept for long). Another takes its place.
        slot = { key: this.#config.slotKey(this.#slots++), revision: 0 };
        continue;
      }
      if ((current?.modRevision ?? 0) === write.expectedRevision) {
        throw new StorageError(
          'Unavailable',
          'etcd: a transaction was refused although its conditions hold',
        );
      }
      this.#free.push(slot);
      return { written: false, current, revision };
    }
  }

  /** The revision at which the transaction with this mark was carried out; undefined: it was not, and never will be. */
  async #settle(slot: Slot, mark: string, cause: unknown): Promise<number | undefined> {
    const { connection, clock, leases } = this.#config;
    this.#unsettled++;
    const deadline = clock.monotonic() + (this.#config.settleMs ?? SETTLE_MS);
    const fence = `f${mark}`;
    for (;;) {
      try {
        const lease = await leases.leaseFor(SLOT_TTL_MS);
        const response = await connection.send('KV.Txn', {
          compare: [{ result: 0, target: 2, key: slot.key, modRevision: slot.revision }],
          success: [{ put: { key: slot.key, value: encoder.encode(fence), lease } }],
          failure: [{ range: { key: slot.key } }],
        });
        if (response.succeeded) {
          slot.revision = response.header.revision;
          return undefined;
        }
        const found = response.responses[0]?.range?.kvs[0];
        if (found === undefined) break;
        slot.revision = found.modRevision;
        const text = decoder.decode(found.value);
        if (text === mark) return found.modRevision;
        if (text === fence) return undefined;
        break;
      } catch (error) {
        if (error instanceof StorageError && error.reason === 'Closed') throw error;
        if (clock.monotonic() >= deadline) break;
        await clock.sleep(SETTLE_PAUSE_MS);
      }
    }
    // The slot is not used again: what may still come finds it as it was.
    throw new StorageError(
      'Unavailable',
      `etcd: ${detailsOf(cause)}; it is not known whether the write was made, look before you write again`,
      { cause },
    );
  }
}

function transaction(
  slot: Slot,
  write: Write,
  mark: string,
  slotLease: number,
  lease: number | undefined,
): TxnRequest {
  const { key, value, expectedRevision } = write;
  const change: RequestOp =
    value === undefined
      ? { deleteRange: { key } }
      : { put: { key, value, ...(lease !== undefined && { lease }) } };
  return {
    compare: [
      { result: 0, target: 2, key, modRevision: expectedRevision },
      { result: 0, target: 2, key: slot.key, modRevision: slot.revision },
    ],
    success: [change, { put: { key: slot.key, value: encoder.encode(mark), lease: slotLease } }],
    failure: [{ range: { key } }, { range: { key: slot.key } }],
  };
}
