import { expect, test } from 'vitest';
import { requestAttributes } from './request-attributes.ts';

const VERBS: readonly (readonly [method: string, verb: string])[] = [
  ['POST', 'create'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
  ['OPTIONS', ''],
];

test.each<[path: string, subresources: readonly string[]]>([
  ['/', ['proxy']],
  ['/attach/ns/pod/c', ['proxy']],
  ['/attach/ns/pod/uid/c', ['proxy']],
  ['/checkpoint/ns/pod/c', ['checkpoint']],
  ['/configz', ['configz', 'proxy']],
  ['/flagz', ['configz']],
  ['/statusz', ['statusz']],
  ['/containerLogs/ns/pod/c', ['proxy']],
  ['/debug/flags/v', ['proxy']],
  ['/debug/pprof/heap', ['proxy']],
  ['/exec/ns/pod/c', ['proxy']],
  ['/healthz', ['healthz', 'proxy']],
  ['/healthz/ping', ['healthz', 'proxy']],
  ['/logs', ['log']],
  ['/logs/', ['log']],
  ['/logs/kubelet.log', ['log']],
  ['/metrics', ['metrics']],
  ['/metrics/slis', ['metrics']],
  ['/metrics/cadvisor', ['metrics']],
  ['/metrics/probes', ['metrics']],
  ['/metrics/resource', ['metrics']],
  ['/metricsx', ['proxy']],
  ['/podsx', ['proxy']],
  ['/pods', ['pods', 'proxy']],
  ['/pods/', ['pods', 'proxy']],
  ['/portForward/ns/pod', ['proxy']],
  ['/run/ns/pod/c', ['proxy']],
  ['/runningpods/', ['pods', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
  ['/stats/', ['stats']],
  ['/stats/summary', ['stats']],
])('%s needs %j', (path, subresources) => {
  for (const [method, verb] of VERBS)
    expect(requestAttributes(method, path)).toEqual({ verb, subresources });
});
