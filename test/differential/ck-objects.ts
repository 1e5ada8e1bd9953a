import { startTestServer } from '#apiserver/testing/server.ts';
import { definitionOf, definitionVersion, define } from '#apiserver/testing/custom-resources.ts';
import { widgetType } from '#apiserver/testing/widgets.ts';
import { systemClock } from '#machinery/clock.ts';
const t = await startTestServer({ clock: systemClock, detectMutations: false });
const mem = () => {
  (globalThis as any).gc();
  (globalThis as any).gc();
  const m = process.memoryUsage();
  return m;
};
const properties: any = {};
for (let i = 0; i < 30; i++) properties['field' + i] = { type: 'string', maxLength: 100 };
await define(
  t.client,
  definitionOf([
    definitionVersion('v1', {
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: {
              type: 'object',
              properties,
              'x-kubernetes-validations': [
                { rule: 'self.field1 != "x"' },
                { rule: 'self.field2 != "x"' },
                { rule: 'self.field3.size() < 50' },
              ],
            },
          },
        },
      } as any,
    }),
  ]),
);
const c = t.client.resource(widgetType()).namespace('default') as any;
const spec: any = {};
for (let i = 0; i < 30; i++) spec['field' + i] = 'value number ' + i;
const o = (i: number) => ({ metadata: { name: 'w' + i }, spec });
await c.create(o(0));
const watch = await c.watch();
let seen = 0;
void (async () => {
  for await (const _ of watch) seen++;
})();
const before = mem();
const N = 10000;
let at = performance.now();
for (let i = 1; i <= N; i += 64) await Promise.all(Array.from({ length: Math.min(64, N - i + 1) }, (_, k) => c.create(o(i + k))));
console.log(
  'created',
  N,
  Math.round(performance.now() - at),
  'ms',
  Math.round((N / (performance.now() - at)) * 1000),
  '/s',
  JSON.stringify(await c.get('w1')).length,
  'bytes',
);
await new Promise((r) => setTimeout(r, 1500));
const after = mem();
console.log(
  'seen',
  seen,
  'heap',
  (after.heapUsed - before.heapUsed) / 1e6,
  'ext',
  (after.external + after.arrayBuffers - before.external - before.arrayBuffers) / 1e6,
  'arrayBuffers',
  (after.arrayBuffers - before.arrayBuffers) / 1e6,
  'rss',
  (after.rss - before.rss) / 1e6,
);
at = performance.now();
const l = await c.list();
console.log('list', l.items.length, Math.round(performance.now() - at));
const cm = (await import('#api/groups/core/v1/index.ts')).configMaps;
const m = t.client.resource(cm).namespace('default');
at = performance.now();
for (let i = 1; i <= N; i += 64)
  await Promise.all(
    Array.from({ length: Math.min(64, N - i + 1) }, (_, k) => m.create({ metadata: { name: 'w' + (i + k) }, data: spec })),
  );
console.log('configmaps', Math.round((N / (performance.now() - at)) * 1000), '/s');
process.exit(0);
