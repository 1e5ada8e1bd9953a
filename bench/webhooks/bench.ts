// Measures the time that one validating webhook on loopback adds to a create. One client sends one
// request after the other; rounds without and with the webhook alternate. With `--reference` the
// same is measured at another API server in the same run.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { fileURLToPath } from 'node:url';

import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { cpuMs } from '../process-usage.ts';
import { heading, median, quantile, show } from '../report.ts';

export interface WebhooksOptions {
  /** Another API server, such as https://127.0.0.1:6443. Absent: only ours is measured. */
  readonly reference?: string;
  /** The token of an administrator at the other server. */
  readonly token: string;
}

interface Webhook {
  readonly url: string;
  readonly caBundle: string;
}

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const CREATES = 400;
const WARM_UP = 1500;
const NAMESPACE = 'default';
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const NAME = 'bench-webhooks';
const DATA = { value: 'abcdefgh'.repeat(128) };
const GOAL_MS = 1;
/** The time until the server uses a new configuration, or stops using a deleted one. */
const SETTLE_MS = 1500;

/** A client of one API server, over one connection. */
class Server {
  readonly name: string;
  readonly #url: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;
  #created = 0;

  constructor(
    name: string,
    url: string,
    agent: Agent,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.name = name;
    this.#url = url;
    this.#agent = agent;
    this.#headers = headers;
  }

  send(method: string, path: string, body?: object): Promise<number> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = {
        ...this.#headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      };
      const sent = request(
        new URL(path, this.#url),
        { method, agent: this.#agent, headers },
        (response) => {
          response.resume();
          response.once('end', () => resolve(response.statusCode ?? 0));
          response.once('error', reject);
        },
      );
      sent.once('error', reject);
      sent.end(text);
    });
  }

  /** Returns the milliseconds that each create took. */
  async creates(count: number): Promise<readonly number[]> {
    const times: number[] = [];
    for (let i = 0; i < count; i++) {
      const metadata = { name: `bench-${this.#created++}`, labels: { bench: 'webhooks' } };
      const began = systemClock.monotonic();
      const code = await this.send('POST', `/api/v1/namespaces/${NAMESPACE}/configmaps`, {
        metadata,
        data: DATA,
      });
      times.push(systemClock.monotonic() - began);
      if (code !== 201) throw new Error(`${this.name}: a create answered ${code}`);
    }
    return times;
  }

  async configure({ url, caBundle }: Webhook): Promise<void> {
    const rules = [
      { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
    ];
    const clientConfig = { url, caBundle };
    const webhook = {
      name: 'bench.webhooks.example.com',
      clientConfig,
      rules,
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    };
    const code = await this.send('POST', CONFIGURATIONS, {
      metadata: { name: NAME },
      webhooks: [webhook],
    });
    if (code !== 201) throw new Error(`${this.name}: the configuration was answered ${code}`);
    await systemClock.sleep(SETTLE_MS);
  }

  async unconfigure(): Promise<void> {
    await this.send('DELETE', `${CONFIGURATIONS}/${NAME}`);
    await systemClock.sleep(SETTLE_MS);
  }

  async clean(): Promise<void> {
    await this.unconfigure();
    await this.send(
      'DELETE',
      `/api/v1/namespaces/${NAMESPACE}/configmaps?labelSelector=bench%3Dwebhooks`,
    );
  }

  close(): void {
    this.#agent.destroy();
  }
}

interface Measured {
  readonly without: readonly number[];
  readonly with: readonly number[];
  readonly added: readonly number[];
  readonly addedP99: readonly number[];
  /**
   * CPU time of the server's process for each create that the webhook adds. Empty: the process id
   * is unknown.
   */
  readonly addedCpu: readonly number[];
}

/**
 * Measures creates with and without the webhook. `pid`: the server's process, if it runs on this
 * machine.
 */
async function measure(server: Server, webhook: Webhook, pid?: number): Promise<Measured> {
  const cpu = (): number => (pid === undefined ? 0 : cpuMs(pid));
  // Removes the objects of an interrupted run.
  await server.clean();
  await server.creates(WARM_UP);
  await server.configure(webhook);
  await server.creates(WARM_UP);
  const rounds: { without: readonly number[]; with: readonly number[]; addedCpu: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpu();
    const times = await server.creates(CREATES);
    const between = cpu();
    await server.unconfigure();
    const after = cpu();
    const without = await server.creates(CREATES);
    rounds.push({ with: times, without, addedCpu: (between - before - (cpu() - after)) / CREATES });
    if (round < ROUNDS - 1) await server.configure(webhook);
  }
  const p = (times: readonly number[], part: number): number => quantile(times, part);
  return {
    without: rounds.map((round) => median(round.without)),
    with: rounds.map((round) => median(round.with)),
    added: rounds.map((round) => median(round.with) - median(round.without)),
    addedP99: rounds.map((round) => p(round.with, 0.99) - p(round.without, 0.99)),
    addedCpu: pid === undefined ? [] : rounds.map((round) => round.addedCpu),
  };
}

export async function webhooks({ reference, token }: WebhooksOptions): Promise<void> {
  heading(
    'webhooks: a create of a ConfigMap of 1 KB, without and with one validating webhook on loopback',
  );
  const child = fork(fileURLToPath(new URL('webhook-process.ts', import.meta.url)));
  const [webhook] = (await once(child, 'message')) as [Webhook];
  const cluster = await BuiltCluster.start({ flags: ['--runtime', 'simulated'] }).catch(
    (error: unknown) => {
      child.disconnect();
      throw error;
    },
  );
  const { host, port, ca, cert, key } = cluster.target;
  const ours = new Server(
    'ours',
    `https://${host}:${port}`,
    new Agent({ keepAlive: true, ca, cert, key }),
  );
  try {
    const theirs =
      reference === undefined
        ? undefined
        : new Server(
            'reference',
            reference,
            new Agent({ keepAlive: true, rejectUnauthorized: false }),
            {
              authorization: `Bearer ${token}`,
            },
          );
    const compared = theirs === undefined ? undefined : await measure(theirs, webhook);
    const measured = await measure(ours, webhook, cluster.pid);
    const line = (what: string, values: keyof Measured, goal?: number): void =>
      show({
        what,
        unit: 'ms',
        values: measured[values],
        ...(goal !== undefined && { goal: { atMost: goal } }),
        ...(compared !== undefined && {
          comparedWith: { name: 'the reference', value: median(compared[values]) },
        }),
      });
    line('create, p50, without', 'without');
    line('create, p50, with the webhook', 'with');
    line('added by the webhook, p50', 'added', GOAL_MS);
    line('added by the webhook, p99', 'addedP99');
    show({ what: "added CPU of the server's process", unit: 'ms', values: measured.addedCpu });
    await theirs?.clean();
    theirs?.close();
    ours.close();
  } finally {
    await cluster.stop();
    child.disconnect();
  }
}
