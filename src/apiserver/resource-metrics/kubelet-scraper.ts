// Reads /stats/summary of a kubelet through the connector that pods/log and nodes/proxy use, too.

import type { Clock } from '#machinery/clock.ts';
import { exchange } from '#machinery/net/peer/index.ts';
import type { NodeConnector, NodeTarget } from '../node-connector.ts';
import { type NodeSample, readSummary } from './summary.ts';

/** The longest time for one node, in ms. */
const TIMEOUT_MS = 5000;
/** The largest summary: 500 pods have less than 1 MiB. */
const MAX_BYTES = 8 * 1024 * 1024;
const PATH = '/stats/summary?only_cpu_and_memory=true';

/** Returns a sample of a node. Rejects if the kubelet does not answer in time, or not with one. */
export type ScrapeNode = (target: NodeTarget) => Promise<NodeSample>;

export function kubeletScraper(connector: NodeConnector, clock: Clock): ScrapeNode {
  return async (target) => {
    const ended = new AbortController();
    const timer = clock.setTimer(TIMEOUT_MS, () =>
      ended.abort(new Error(`timeout: no metrics within ${TIMEOUT_MS} ms`)),
    );
    try {
      const { signal } = ended;
      const connection = await connector.connect(target, signal);
      const answer = await exchange({
        connection,
        method: 'GET',
        path: PATH,
        headers: { host: 'kubelet', connection: 'close' },
        signal,
        clock,
      });
      if (answer.kind !== 'response') throw new Error('the kubelet changed the protocol');
      const { message } = answer;
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of message as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > MAX_BYTES) throw new Error('the summary is too large');
        chunks.push(chunk);
      }
      if (message.statusCode !== 200) throw new Error(`the kubelet answered ${message.statusCode}`);
      return readSummary(JSON.parse(Buffer.concat(chunks).toString('utf8')));
    } finally {
      timer.cancel();
      // Also closes the connection after an error.
      ended.abort(new Error('the scrape has ended'));
    }
  };
}
