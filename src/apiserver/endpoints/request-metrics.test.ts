// The labels of requests, and when requests are recorded.

import { expect, test } from 'vitest';

import { VirtualClock } from '#machinery/clock.ts';
import type { Handler } from '../request.ts';
import { rawRequest, type RawRequest } from '../testing/requests.ts';
import type { EndpointMetrics } from './endpoint-metrics.ts';
import { requestInfo } from '../filters/request-info.ts';
import { RequestMetrics } from './request-metrics.ts';

const LABELS = {
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  component: 'apiserver',
};

function start(serve: (endpoint: EndpointMetrics) => Handler): {
  readonly clock: VirtualClock;
  readonly ask: (raw: RawRequest) => Promise<unknown>;
  readonly samples: (name: string) => string[];
} {
  const clock = new VirtualClock();
  const metrics = new RequestMetrics({ clock });
  const handler = metrics.filter(requestInfo(serve(metrics.endpoint(LABELS))));
  return {
    clock,
    ask: (raw) => handler(rawRequest(raw)),
    samples: (name) =>
      metrics
        .text()
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`)),
  };
}

const serving =
  (code = 200): ((endpoint: EndpointMetrics) => Handler) =>
  (endpoint) =>
  (request) => {
    request.endpoint = endpoint;
    return Promise.resolve({ code, body: { kind: 'none' } });
  };

const NAMED = '/api/v1/namespaces/a/pods/x';

test.each<[raw: RawRequest, verb: string, scope: string, dryRun: string]>([
  [{ path: NAMED }, 'GET', 'resource', ''],
  [{ path: NAMED, method: 'HEAD' }, 'GET', 'resource', ''],
  [{ path: '/api/v1/namespaces/a/pods' }, 'LIST', 'namespace', ''],
  [{ path: '/api/v1/pods' }, 'LIST', 'cluster', ''],
  [{ path: '/api/v1/pods?fieldSelector=metadata.name%3Dx' }, 'LIST', 'cluster', ''],
  [{ path: '/api/v1/pods?watch=1' }, 'WATCH', 'cluster', ''],
  [{ path: '/api/v1/watch/namespaces/a/pods' }, 'WATCH', 'namespace', ''],
  [{ path: '/api/v1/namespaces/a/pods', method: 'POST' }, 'POST', 'resource', ''],
  [{ path: '/api/v1/namespaces/a/pods?dryRun=All', method: 'POST' }, 'POST', 'resource', 'All'],
  [
    { path: '/api/v1/namespaces/a/pods?dryRun=Some', method: 'POST' },
    'POST',
    'resource',
    'invalid',
  ],
  [{ path: NAMED, method: 'PUT' }, 'PUT', 'resource', ''],
  [
    { path: NAMED, method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } },
    'PATCH',
    'resource',
    '',
  ],
  [
    { path: NAMED, method: 'PATCH', headers: { 'content-type': 'application/apply-patch+yaml' } },
    'APPLY',
    'resource',
    '',
  ],
  [{ path: NAMED, method: 'DELETE' }, 'DELETE', 'resource', ''],
  [{ path: '/api/v1/namespaces/a/pods', method: 'DELETE' }, 'DELETE', 'namespace', ''],
  [{ path: `${NAMED}/exec`, method: 'POST' }, 'CONNECT', 'resource', ''],
  [{ path: `${NAMED}/log` }, 'CONNECT', 'resource', ''],
  [{ path: NAMED, method: 'BREW' }, 'other', 'resource', ''],
])('%j is %s, %s, %j', async (raw, verb, scope, dryRun) => {
  const { ask, samples } = start(serving());
  await ask(raw);
  const labels = `verb="${verb}",dry_run="${dryRun}",scope="${scope}",`;
  const endpoint = 'group="",version="v1",resource="pods",subresource="",component="apiserver"';
  expect(samples('apiserver_request_total')).toEqual([
    `apiserver_request_total{${labels}code="200",${endpoint}} 1`,
  ]);
  expect(samples('apiserver_request_duration_seconds_count')).toEqual([
    `apiserver_request_duration_seconds_count{${labels}${endpoint}} 1`,
  ]);
});

test('requests with several status codes share a histogram of durations', async () => {
  let code = 200;
  const { ask, samples, clock } = start((endpoint) => async (request) => {
    request.endpoint = endpoint;
    const sleeping = clock.sleep(300);
    await clock.advance(300);
    await sleeping;
    return { code, body: { kind: 'none' } };
  });
  await ask({ path: NAMED });
  code = 404;
  await ask({ path: NAMED });
  expect(
    samples('apiserver_request_total').map((line) => /code="(\d+)".* (\d+)$/.exec(line)?.slice(1)),
  ).toEqual([
    ['200', '1'],
    ['404', '1'],
  ]);
  const buckets = samples('apiserver_request_duration_seconds_bucket');
  expect(
    buckets.filter((line) => /le="0.2"/.test(line)).map((line) => line.split(' ').at(-1)),
  ).toEqual(['0']);
  expect(
    buckets.filter((line) => /le="0.4"/.test(line)).map((line) => line.split(' ').at(-1)),
  ).toEqual(['2']);
  expect(samples('apiserver_request_duration_seconds_sum')[0]).toMatch(/ 0\.6$/);
});

test('requests that reach no endpoint create no series', async () => {
  const { ask, samples } = start(
    () => () => Promise.resolve({ code: 403, body: { kind: 'none' } }),
  );
  for (let i = 0; i < 100; i++) await ask({ path: `/api/v1/namespaces/a/made-up-${i}` });
  expect(samples('apiserver_request_total')).toEqual([]);
});

test('a stream counts as open until it ends, and is then recorded with its whole duration', async () => {
  let close: ((code: number) => void) | undefined;
  const { ask, samples, clock } = start((endpoint) => (request) => {
    request.endpoint = endpoint;
    close = endpoint.open(request);
    return Promise.resolve({ code: 200, body: { kind: 'none' } });
  });
  await ask({ path: '/api/v1/pods?watch=1' });
  expect(samples('apiserver_request_total')).toEqual([]);
  expect(samples('apiserver_longrunning_requests')[0]).toMatch(
    /^.*verb="WATCH",scope="cluster".* 1$/,
  );
  await clock.advance(5000);
  close?.(200);
  close?.(200);
  expect(samples('apiserver_longrunning_requests')[0]).toMatch(/ 0$/);
  expect(samples('apiserver_request_total')[0]).toMatch(/ 1$/);
  expect(samples('apiserver_request_duration_seconds_sum')[0]).toMatch(/ 5$/);
});

test('requests in flight: the maximum of the last second, separately for reads and writes', async () => {
  const release: (() => void)[] = [];
  const { ask, samples, clock } = start(
    () => () =>
      new Promise((resolve) => release.push(() => resolve({ code: 200, body: { kind: 'none' } }))),
  );
  const responses = [
    ask({ path: NAMED }),
    ask({ path: NAMED }),
    ask({ path: NAMED, method: 'PUT' }),
  ];
  const values = (): string[] =>
    samples('apiserver_current_inflight_requests').map((line) => line.slice(line.indexOf('{')));
  expect(values()).toEqual(['{request_kind="readOnly"} 2', '{request_kind="mutating"} 1']);
  for (const each of release) each();
  await Promise.all(responses);
  expect(values()).toEqual(['{request_kind="readOnly"} 2', '{request_kind="mutating"} 1']);
  await clock.advance(3000);
  expect(values()).toEqual(['{request_kind="readOnly"} 0', '{request_kind="mutating"} 0']);
});
