// Passes on what is recorded about a pod, so that it can be recorded about the volume that the pod
// recycles.

import { events } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Logger } from '#machinery/log.ts';

export interface RelayConfig {
  readonly client: Client;
  readonly logger: Logger;
  /** The pod, which need not exist yet. */
  readonly namespace: string;
  readonly name: string;
  /** Ends the relay. */
  readonly signal: AbortSignal;
}

export interface Relay {
  /** Calls `record` for each event of the pod with this UID: for those that have come, and others. */
  from(uid: string, record: (type: string, message: string) => void): void;
}

/**
 * Resolves when no event of the pod can be missed. Later failures end the relay, and are logged: they
 * change nothing about the pod.
 */
export async function relayEvents(config: RelayConfig): Promise<Relay> {
  const { client, logger, namespace, name, signal } = config;
  const fieldSelector = `involvedObject.name=${name}`;
  const stream = await client
    .resource(events)
    .namespace(namespace)
    .watch({ fieldSelector, signal });
  const relay = async (
    uid: string,
    record: (type: string, message: string) => void,
  ): Promise<void> => {
    try {
      for await (const { type, object } of stream) {
        const { involvedObject, message = '', type: kind = 'Normal' } = object;
        if (type === 'ADDED' && involvedObject.uid === uid) record(kind, message);
      }
    } catch (error) {
      if (!signal.aborted)
        logger.warn('recycler: events of the pod are not passed on', { pod: name, err: error });
    }
  };
  return { from: (uid, record) => void relay(uid, record) };
}
