// Writes whose outcome is always determined.
//
// A transaction may get no response. Then it is unknown whether it was executed, or will be: it may
// be waiting in a member that was cut off. Sending it again blindly could write twice. Reading the
// key is not enough either, since other clients write the same key, even the same value.
//
// So every transaction compares a **slot**, a key that only this process uses. If a response is
// missing, the slot is written under the same condition, a **fence**. Once the fence is there, the
// transaction never executes any more, since its condition cannot hold. Whether it was executed
// before is known in one of two ways:
//
// - A value that is JSON has a **mark** (marks.ts), so no other write has the same bytes. History
//   from before the transaction up to the fence shows whether the key got them.
// - Other values, and deletions, cannot be distinguished. Their transaction writes the slot, too,
//   so that the fence fails if it was executed. That costs etcd a second put.
//
// A slot serves one transaction at a time, so there are as many slots as concurrent transactions.
// Slots have a lease, so that nothing is left of a process that has ended. A slot that has
// disappeared is never used again, since an old transaction could find its condition true.

import type { Clock } from '#machinery/clock.ts';
import { type Revision, StorageError } from '../interface.ts';
import type { EtcdConnection } from './connection.ts';
import { detailsOf, failureKind, storageErrorOf } from './errors.ts';
import { findWrite } from './find-write.ts';
import type { KeyRange } from './keys.ts';
import type { LeasePool } from './leases.ts';
import type { Marks } from './marks.ts';
import type { EtcdKeyValue, RequestOp, TxnRequest, TxnResponse } from './schema.ts';

/** A change of one key, on condition that the key is unchanged since it was read. */
export interface Write {
  readonly key: Uint8Array;
  /** The key's modRevision; 0: the key must not exist. */
  readonly expectedRevision: number;
  /** The new value. Undefined: delete the key. */
  readonly value: Uint8Array | undefined;
  readonly ttlMs: number | undefined;
}

export type WriteOutcome =
  | { readonly written: true; readonly revision: number }
  /** Another write was first. `current` is the present state of the key. */
  | {
      readonly written: false;
      readonly current: EtcdKeyValue | undefined;
      readonly revision: number;
    };

export interface WriterConfig {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly leases: LeasePool;
  /** Returns the key of the slot with this number. */
  readonly slotKey: (number: number) => Uint8Array;
  readonly marks: Marks;
  /** The keys that are written, and the slots. */
  readonly range: KeyRange;
  /** Returns the newest revision that any response has shown. */
  readonly latest: () => Revision;
  /**
   * The time for which the writer tries to determine the outcome of a transaction, in ms. Default:
   * 30 s.
   */
  readonly settleMs?: number;
}

interface Slot {
  readonly key: Uint8Array;
  /** The slot's revision when it was last read; 0: it has not been written yet. */
  revision: number;
}

/** A transaction that was sent. */
interface Sent {
  readonly key: Uint8Array;
  /** The value of the slot if the transaction writes it. */
  readonly slotValue: string;
  /** The value with its mark. Undefined: the transaction writes the slot. */
  readonly marked: Uint8Array | undefined;
  /** A revision before that of the transaction. */
  readonly after: Revision;
}

const SLOT_TTL_MS = 3_600_000;
const SETTLE_MS = 30_000;
const SETTLE_PAUSE_MS = 100;
const FIND_MS = 4000;
const BUSY_ATTEMPTS = 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Writer {
  readonly #config: WriterConfig;
  /** Slots that are not in use. */
  readonly #free: Slot[] = [];
  #slots = 0;
  #lastWrite = 0;
  #unsettled = 0;

  constructor(config: WriterConfig) {
    this.#config = config;
  }

  /** The number of transactions without a response since the start. */
  get unsettled(): number {
    return this.#unsettled;
  }

  /**
   * Writes the key. Throws StorageError: NoSpace (not written), Unavailable (the message says
   * whether it was not written or the outcome is unknown), Closed.
   */
  async write(write: Write): Promise<WriteOutcome> {
    const slot = this.#free.pop() ?? { key: this.#config.slotKey(this.#slots++), revision: 0 };
    // Only a slot whose state is known is used again.
    const outcome = await this.#withSlot(slot, write);
    return outcome;
  }

  async #withSlot(slot: Slot, write: Write): Promise<WriteOutcome> {
    const { connection, leases, clock, marks, latest } = this.#config;
    for (let attempt = 1; ; attempt++) {
      const slotValue = `w${++this.#lastWrite}`;
      const marked = write.value && marks.mark(write.value);
      let ttlLease: number | undefined;
      let slotLease: number | undefined;
      try {
        if (marked === undefined) slotLease = await leases.leaseFor(SLOT_TTL_MS);
        if (write.ttlMs !== undefined) ttlLease = await leases.leaseFor(write.ttlMs);
      } catch (error) {
        this.#free.push(slot);
        throw storageErrorOf(error);
      }
      const sent = { key: write.key, slotValue, marked, after: latest() };
      let response: TxnResponse;
      try {
        response = await connection.send(
          'KV.Txn',
          transaction(slot, write, sent, slotLease, ttlLease),
        );
      } catch (error) {
        const kind = failureKind(error);
        if (error instanceof StorageError) throw error;
        if (kind === 'unknown') {
          const revision = await this.#settle(slot, sent, error);
          if (revision === undefined) continue;
          this.#free.push(slot);
          return { written: true, revision };
        }
        if (kind === 'no-lease' && attempt < BUSY_ATTEMPTS) {
          if (slotLease !== undefined) await leases.forget(SLOT_TTL_MS, slotLease);
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
        if (marked === undefined) slot.revision = revision;
        this.#free.push(slot);
        return { written: true, revision };
      }
      const [current, found] = response.responses.map((each) => each.range?.kvs[0]);
      if ((found?.modRevision ?? 0) !== slot.revision) {
        // The slot's lease has expired (this process slept for long). Another slot replaces it.
        slot = { key: this.#config.slotKey(this.#slots++), revision: 0 };
        continue;
      }
      if ((current?.modRevision ?? 0) === write.expectedRevision) {
        throw new StorageError(
          'Unavailable',
          'etcd: a transaction failed although its conditions hold',
        );
      }
      this.#free.push(slot);
      return { written: false, current, revision };
    }
  }

  /**
   * Returns the revision at which the transaction was executed. Undefined: it was
   * not, and never will be.
   */
  async #settle(slot: Slot, sent: Sent, cause: unknown): Promise<number | undefined> {
    const { connection, clock, leases } = this.#config;
    this.#unsettled++;
    const deadline = clock.monotonic() + (this.#config.settleMs ?? SETTLE_MS);
    const fence = `f${sent.slotValue}`;
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
          return await this.#find(sent, slot.revision);
        }
        const found = response.responses[0]?.range?.kvs[0];
        if (found === undefined) break;
        const text = decoder.decode(found.value);
        if (text !== fence && text !== sent.slotValue) break;
        slot.revision = found.modRevision;
        return text === fence ? await this.#find(sent, slot.revision) : slot.revision;
      } catch (error) {
        if (error instanceof StorageError && error.reason === 'Closed') throw error;
        if (error instanceof StorageError && error.reason === 'Expired') break;
        if (clock.monotonic() >= deadline) break;
        await clock.sleep(SETTLE_PAUSE_MS);
      }
    }
    // The slot is not used again, so the condition of the delayed transaction cannot be affected.
    throw new StorageError(
      'Unavailable',
      `etcd: ${detailsOf(cause)}; the outcome of the write is unknown, read the key before writing again`,
      { cause },
    );
  }

  /** Returns the revision of a transaction that does not write its slot. `fence`: a later revision. */
  async #find({ marked, key, after }: Sent, fence: Revision): Promise<Revision | undefined> {
    if (marked === undefined) return undefined;
    const { connection, clock, range } = this.#config;
    return await findWrite({
      connection,
      clock,
      range,
      key,
      value: marked,
      after,
      upTo: fence,
      timeoutMs: FIND_MS,
    });
  }
}

function transaction(
  slot: Slot,
  { key, value: plain, expectedRevision }: Write,
  { marked, slotValue }: Sent,
  slotLease: number | undefined,
  lease: number | undefined,
): TxnRequest {
  const value = marked ?? plain;
  const change: RequestOp =
    value === undefined
      ? { deleteRange: { key } }
      : { put: { key, value, ...(lease !== undefined && { lease }) } };
  return {
    compare: [
      { result: 0, target: 2, key, modRevision: expectedRevision },
      { result: 0, target: 2, key: slot.key, modRevision: slot.revision },
    ],
    success:
      slotLease === undefined
        ? [change]
        : [change, { put: { key: slot.key, value: encoder.encode(slotValue), lease: slotLease } }],
    failure: [{ range: { key } }, { range: { key: slot.key } }],
  };
}
