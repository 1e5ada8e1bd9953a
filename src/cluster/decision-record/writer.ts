// The scheduler's side of the record.

import { secrets } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { waitFor } from '#client/wait-for.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { DecisionLog } from '#scheduler/decisions.ts';
import {
  encodeDecisions,
  RECORD_NAME,
  RECORD_NAMESPACE,
  WANTED_ANNOTATION,
  WANTED_MS,
} from './record.ts';

const WRITE_MS = 2000;
/** An API server without a console gives no permission. It may be replaced by one that does. */
const RETRY_MS = 60_000;

export interface RecorderConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly decisions: DecisionLog;
  /** The scheduler's configuration as its YAML reads. Absent: the default one. */
  readonly configuration?: unknown;
}

/** Writes decisions whenever they are wanted, until the signal aborts. Never rejects. */
export async function recordDecisions(config: RecorderConfig, signal: AbortSignal): Promise<void> {
  const { clock, logger } = config;
  let answered: string | undefined;
  while (!signal.aborted) {
    try {
      answered = await untilWanted(config, answered, signal);
      await write(config, signal);
    } catch (error) {
      if (signal.aborted) return;
      logger.debug('scheduler decisions: recording failed, will retry', { err: error });
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
}

/** Waits for another request than the last one. Returns it. */
async function untilWanted(
  { client, clock }: RecorderConfig,
  answered: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const records = client.resource(secrets).namespace(RECORD_NAMESPACE);
  const record = await waitFor(
    records,
    RECORD_NAME,
    ({ metadata }) => (metadata.annotations?.[WANTED_ANNOTATION] ?? answered) !== answered,
    { timeoutMs: Infinity, clock, signal },
  );
  return record?.metadata.annotations?.[WANTED_ANNOTATION];
}

/** Writes changes as long as one request lasts. */
async function write(
  { client, clock, decisions, configuration = null }: RecorderConfig,
  signal: AbortSignal,
): Promise<void> {
  const records = client.resource(secrets).namespace(RECORD_NAMESPACE);
  const until = clock.monotonic() + WANTED_MS;
  let written: string | undefined;
  while (clock.monotonic() < until) {
    const text = encodeDecisions(decisions.read());
    if (text !== written) {
      const stringData = { decisions: text, configuration: JSON.stringify(configuration) };
      await records.patch(RECORD_NAME, 'application/merge-patch+json', { stringData }, { signal });
      written = text;
    }
    await clock.sleep(WRITE_MS, signal);
  }
}
