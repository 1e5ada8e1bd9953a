import { startTestServer } from '#apiserver/testing/server.ts';
import { send } from '#apiserver/testing/requests.ts';
import { definitionOf, definitionVersion, define, established } from '#apiserver/testing/custom-resources.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { systemClock } from '#machinery/clock.ts';
const N = Number(process.argv[2] ?? 1000);
const groupsOf = process.argv[3] ?? 'many';
const t = await startTestServer({ clock: systemClock, detectMutations: false });
function bigSchema(n: number) {
  const properties: any = {};
  for (let i = 0; i < n; i++)
    properties['field' + i] = {
      type: 'object',
      description:
        'A field of the specification that says something about the thing number ' +
        i +
        ', in some words that are as long as they usually are.',
      properties: {
        name: { type: 'string', description: 'The name of it, which is unique.', maxLength: 63 },
        count: { type: 'integer', minimum: 0, description: 'How many there are.' },
        tags: { type: 'array', items: { type: 'string' } },
      },
    };
  return {
    type: 'object',
    properties: {
      spec: { type: 'object', properties },
      status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  };
}
const mem = () => {
  (globalThis as any).gc?.();
  (globalThis as any).gc?.();
  const m = process.memoryUsage();
  return { rss: m.rss, heap: m.heapUsed, ext: m.external + m.arrayBuffers };
};
const crd = (i: number) =>
  definitionOf([definitionVersion('v1', { schema: { openAPIV3Schema: bigSchema(75) } as any, subresources: { status: {} } })], {
    plural: `widgets${i}`,
    kind: `Widget${i}`,
    group: groupsOf === 'many' ? `g${i}.example.com` : `g${i % 50}.example.com`,
  });
console.log('definition JSON', JSON.stringify(crd(1)).length);
await define(t.client, crd(0));
const before = mem();
let at = performance.now();
const defs = t.client.resource(customResourceDefinitions) as any;
for (let i = 1; i <= N; i += 20)
  await Promise.all(Array.from({ length: Math.min(20, N - i + 1) }, (_, k) => defs.create(crd(i + k))));
await established(t.client, `widgets${N}.${crd(N).spec.group}`);
console.log('created', N, Math.round(performance.now() - at), 'ms');
await new Promise((r) => setTimeout(r, 3000));
const after = mem();
console.log(
  'per definition: rss',
  Math.round((after.rss - before.rss) / N),
  'heap',
  Math.round((after.heap - before.heap) / N),
  'external',
  Math.round((after.ext - before.ext) / N),
);
at = performance.now();
let r = await send(t.server, { path: '/openapi/v3' });
console.log('first /openapi/v3', Math.round(performance.now() - at), 'ms', r.text.length);
at = performance.now();
r = await send(t.server, {
  path: '/apis',
  headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
});
console.log('aggregated', Math.round(performance.now() - at), r.text.length);
const after2 = mem();
console.log(
  'after documents, per definition: heap',
  Math.round((after2.heap - before.heap) / N),
  'external',
  Math.round((after2.ext - before.ext) / N),
);
for (let k = 1; k <= 3; k++) {
  at = performance.now();
  await defs.create(crd(N + k));
  await established(t.client, `widgets${N + k}.${crd(N + k).spec.group}`);
  const e = performance.now() - at;
  const c = await send(t.server, {
    method: 'POST',
    path: `/apis/${crd(N + k).spec.group}/v1/namespaces/default/widgets${N + k}`,
    body: { apiVersion: `${crd(N + k).spec.group}/v1`, kind: `Widget${N + k}`, metadata: { name: 'a' }, spec: {} },
  });
  const f = performance.now() - at;
  r = await send(t.server, { path: '/openapi/v3' });
  const g = performance.now() - at;
  const has = r.text.includes(crd(N + k).spec.group);
  const d = await send(t.server, { path: `/openapi/v3/apis/${crd(N + k).spec.group}/v1` });
  console.log(
    'established',
    e.toFixed(1),
    'first create',
    c.code,
    f.toFixed(1),
    'index',
    has,
    g.toFixed(1),
    'doc',
    d.code,
    (performance.now() - at).toFixed(1),
  );
}
await t.stop();
process.exit(0);
