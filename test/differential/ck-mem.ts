import { startTestServer } from '#apiserver/testing/server.ts';
import { definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { describeResource } from '#apiserver/extensions/description.ts';
import { customKinds } from '#apiserver/extensions/kinds/custom-kinds.ts';
import { SchemaPool } from '#apiserver/extensions/kinds/schema-pool.ts';
import { noConversion } from '#apiserver/extensions/conversion/none.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
const t = await startTestServer({});
const mem = () => {
  (globalThis as any).gc();
  (globalThis as any).gc();
  return process.memoryUsage().heapUsed;
};
const N = 2000;
const pool = new SchemaPool();
const kept: any[] = [];
const make = (i: number) => {
  const d: any = definitionOf([definitionVersion('v1', { subresources: { status: {} } })], {
    plural: `widgets${i}`,
    kind: `Widget${i}`,
    group: `g${i}.example.com`,
  });
  d.metadata.uid = 'x';
  d.spec.names.singular = 'w' + i;
  d.spec.names.listKind = 'WL' + i;
  d.status = { acceptedNames: d.spec.names };
  return customKinds(describeResource(d)!, {
    storage: t.storage,
    clock: t.clock,
    random: new SeededRandom('x'),
    logger: silentLogger,
    pool,
    schemaOf: () => undefined,
    converter: noConversion,
    isTerminating: () => false,
    scaleCodec: undefined as any,
    fingerprint: 'x',
  } as any);
};
kept.push(make(0));
let b = mem();
for (let i = 1; i <= N; i++) kept.push(make(i));
let a = mem();
console.log('kinds only', Math.round((a - b) / N));
b = a;
for (let i = 1; i <= N; i++) t.server.catalog.install(kept[i]);
a = mem();
console.log('installed', Math.round((a - b) / N));
process.exit(0);
