// The API server's side of the record: asks for the decisions, and reads them.

import { secrets, type Secret } from '#api/groups/core/v1/index.ts';
import { roleBindings, roles } from '#api/groups/rbac/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { Decision } from '#scheduler/decisions.ts';
import {
  decodeConfiguration,
  decodeDecisions,
  RECORD_NAME,
  RECORD_NAMESPACE,
  RECORD_TYPE,
  recordRole,
  recordRoleBinding,
  WANTED_ANNOTATION,
  WANTED_MS,
} from './record.ts';

/** How long a scheduler may take to record its configuration. */
const ANSWER_MS = 3000;
const POLL_MS = 200;
const SILENCE_MS = 60_000;

export interface RecordReaderConfig {
  /** Returns a client of an administrator. */
  readonly client: () => Client;
  readonly clock: Clock;
  readonly random: Random;
}

export class RecordReader {
  readonly #config: RecordReaderConfig;
  #askedMs = -Infinity;
  /** When a scheduler was last waited for in vain. */
  #silentMs = -Infinity;

  constructor(config: RecordReaderConfig) {
    this.#config = config;
  }

  /** Permits the scheduler to write the record. Existing roles are kept. */
  static async grant(client: Client): Promise<void> {
    const rbac = [
      client.resource(roles).namespace(RECORD_NAMESPACE).create(recordRole),
      client.resource(roleBindings).namespace(RECORD_NAMESPACE).create(recordRoleBinding),
    ];
    await Promise.all(rbac.map((created) => apierrors.unlessExists(created)));
  }

  /**
   * Returns the decisions that the scheduler has recorded, latest first, and asks it to go on. The
   * first ones come a moment after the first call.
   */
  async decisions(): Promise<readonly Decision[]> {
    return decodeDecisions(await this.#wanted());
  }

  /**
   * Returns the scheduler's configuration as its YAML reads, and waits a moment for it. Undefined: it
   * has the default one, or does not answer.
   */
  async configuration(): Promise<unknown> {
    const { clock } = this.#config;
    const deadline = clock.monotonic() + ANSWER_MS;
    let record = await this.#wanted();
    while (record.data?.['configuration'] === undefined) {
      const now = clock.monotonic();
      // A scheduler that has not answered is not waited for each time.
      if (now - this.#silentMs < SILENCE_MS) return undefined;
      if (now >= deadline) {
        this.#silentMs = now;
        return undefined;
      }
      await clock.sleep(POLL_MS);
      record = await this.#records.get(RECORD_NAME);
    }
    return decodeConfiguration(record);
  }

  get #records() {
    return this.#config.client().resource(secrets).namespace(RECORD_NAMESPACE);
  }

  async #wanted(): Promise<Immutable<Secret>> {
    const { clock, random } = this.#config;
    const now = clock.monotonic();
    // Before the last request is over, so that the scheduler does not pause.
    if (now - this.#askedMs < WANTED_MS / 3) return this.#records.get(RECORD_NAME);
    const annotations = { [WANTED_ANNOTATION]: random.uuid() };
    const record = await this.#ask(annotations);
    this.#askedMs = now;
    return record;
  }

  async #ask(annotations: Readonly<Record<string, string>>): Promise<Immutable<Secret>> {
    try {
      const patch = { metadata: { annotations } };
      return await this.#records.patch(RECORD_NAME, 'application/merge-patch+json', patch);
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
    const record = { metadata: { name: RECORD_NAME, annotations }, type: RECORD_TYPE };
    // Another API server may be faster.
    await apierrors.unlessExists(this.#records.create(record));
    return this.#records.get(RECORD_NAME);
  }
}
