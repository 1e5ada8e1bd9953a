// Measures the cost of a change of the catalog: a kind is installed and uninstalled, a request is
// routed, discovery and OpenAPI are read after a change. Each measurement alternates between a
// server with 100 kinds beside the built-in ones and one with 10,000. A ratio near 1 means that the
// cost does not depend on the number of kinds.

import { newDefaultScheme } from '#api/default-scheme.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { Router } from '#apiserver/endpoints/router.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import { AdmissionChain } from '#apiserver/admission/chain.ts';
import { AdmissionMetrics } from '#apiserver/admission/metrics.ts';
import { RequestMetrics } from '#apiserver/endpoints/request-metrics.ts';
import { requestInfo } from '#apiserver/filters/request-info.ts';
import type { Handler } from '#apiserver/request.ts';
import { rawRequest, send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { widgetKind, widgetType } from '#apiserver/testing/widgets.ts';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { heading, median, note, show } from '../report.ts';

const SIZES = [100, 10_000] as const;
const KINDS_PER_GROUP = 20;
const ROUNDS = 9;
const WARM_UP_ROUNDS = 3;
/** The number of kinds that get requests; they are the same in both servers. */
const REQUESTED_KINDS = 100;

interface Installed {
  readonly size: number;
  readonly t: TestServer;
  /** Routes a request's path to its resource, without the other steps of a request. */
  readonly router: Handler;
  readonly install: { readonly ms: number; readonly heapBytes: number };
}

const groupOf = (index: number): string =>
  `group-${Math.floor(index / KINDS_PER_GROUP)}.example.com`;

function kindAt(t: Pick<TestServer, 'storage' | 'clock'>, index: number): Kind {
  const kind = widgetKind(t, widgetType('v1', groupOf(index), `widgets${index}s`));
  const object = new FreshObject({
    apiVersion: `${kind.type.group}/v1`,
    kind: kind.type.kind,
    metadata: { name: 'a' },
  });
  // Reads cost nothing here: the benchmark measures the routing.
  return {
    ...kind,
    subresources: [{ name: 'fixed', kind: kind.type, rest: { get: async () => object } }],
  };
}

async function serverWith(size: number): Promise<Installed> {
  const t = await startTestServer({
    clock: systemClock,
    random: systemRandom,
    detectMutations: false,
  });
  globalThis.gc?.();
  const [heap, began] = [process.memoryUsage().heapUsed, process.cpuUsage()];
  t.server.catalog.install(Array.from({ length: size }, (_, index) => kindAt(t, index)));
  const { user, system } = process.cpuUsage(began);
  globalThis.gc?.();
  const metrics = new RequestMetrics({ clock: systemClock });
  const services = {
    scheme: newDefaultScheme(),
    catalog: t.server.catalog,
    admission: new AdmissionChain([], { clock: systemClock, metrics: new AdmissionMetrics() }),
    authorizer: { authorize: () => ({ decision: 'allow' as const, reason: '' }) },
    clock: systemClock,
    random: systemRandom,
    minWatchTimeoutMs: 60_000,
  };
  const router = requestInfo(new Router({ services, routes: [], metrics }).handle);
  return {
    size,
    t,
    router,
    install: { ms: (user + system) / 1000, heapBytes: process.memoryUsage().heapUsed - heap },
  };
}

interface Measurement {
  readonly what: string;
  readonly unit: 'µs' | 'ms';
  readonly times: number;
  /** `index`: the number of the call within its round. */
  run(installed: Installed, index: number): unknown;
}

const pathOf = (index: number): string =>
  `/apis/${groupOf(index)}/v1/namespaces/default/widgets${index}s/a`;

const MEASUREMENTS: readonly Measurement[] = [
  {
    what: 'install and uninstall a kind',
    unit: 'µs',
    times: 2_000,
    run: ({ t }) =>
      t.server.catalog.install([widgetKind(t, widgetType('v1', groupOf(0), 'others'))]).uninstall(),
  },
  {
    what: 'route a request to its resource',
    unit: 'µs',
    times: 20_000,
    run: ({ router }, index) =>
      router(rawRequest({ path: `${pathOf(index % REQUESTED_KINDS)}/fixed` })),
  },
  {
    what: 'a whole request without a connection',
    unit: 'µs',
    times: 5_000,
    run: ({ t }, index) => send(t.server, { path: `${pathOf(index % REQUESTED_KINDS)}/fixed` }),
  },
  {
    what: 'change a group, get its discovery document',
    unit: 'µs',
    times: 500,
    run: async ({ t }) => {
      const installed = t.server.catalog.install([
        widgetKind(t, widgetType('v1', groupOf(0), 'others')),
      ]);
      await send(t.server, { path: `/apis/${groupOf(0)}/v1` });
      installed.uninstall();
    },
  },
  {
    what: 'change a group, get its OpenAPI document',
    unit: 'ms',
    times: 10,
    run: async ({ t }) => {
      const installed = t.server.catalog.install([
        widgetKind(t, widgetType('v1', groupOf(0), 'others')),
      ]);
      await send(t.server, { path: `/openapi/v3/apis/${groupOf(0)}/v1` });
      installed.uninstall();
    },
  },
];

/** Returns the processor time of one call, in µs. */
async function timeOf({ times, run }: Measurement, installed: Installed): Promise<number> {
  const began = process.cpuUsage();
  for (let i = 0; i < times; i++) {
    const result = run(installed, i);
    if (result instanceof Promise) await result;
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / times;
}

export async function catalog(): Promise<void> {
  heading(
    'catalog: kinds that come and go, with 100 and with 10,000 kinds installed (time of the processor)',
  );
  const servers: Installed[] = [];
  for (const size of SIZES) servers.push(await serverWith(size));
  for (const { size, install } of servers) {
    const perKind =
      `${((install.ms * 1000) / size).toFixed(0)} µs and ` +
      `${(install.heapBytes / size / 1024).toFixed(1)} KiB each`;
    note(
      `${size.toLocaleString('en')} kinds installed at once: ${install.ms.toFixed(0)} ms, ` +
        `${perKind}, with their stores`,
    );
  }
  for (const measurement of MEASUREMENTS) {
    const values = servers.map(() => [] as number[]);
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
      for (const [index, server] of servers.entries()) {
        const time = await timeOf(measurement, server);
        if (round >= 0) values[index]?.push(measurement.unit === 'ms' ? time / 1000 : time);
      }
    }
    const [few = [], many = []] = values;
    const { what, unit } = measurement;
    show({ what: `${what}, ${SIZES[0]} kinds`, unit, values: few });
    show({
      what: `… 10,000 kinds`,
      unit,
      values: many,
      comparedWith: { name: 'with 100 kinds', value: median(few) },
    });
  }
  for (const { t } of servers) await t.stop();
}
