import { expect, test } from 'vitest';
import { Claims } from './claims.ts';
import { decideService } from './decide.ts';
import type { RulesUpdate, Service, ServiceRules } from './model.ts';
import { NODE, service } from './testing/objects.ts';

const rulesOf = (given: Service, created = '2026-01-01T00:00:00Z'): ServiceRules => ({
  ...(decideService(given, [], NODE) as ServiceRules),
  created,
});
const update = (
  changes: Record<string, ServiceRules | undefined>,
  complete = false,
): RulesUpdate => ({
  complete,
  changes: new Map(Object.entries(changes)),
});
const frontends = ({ changes }: RulesUpdate): Record<string, string> =>
  Object.fromEntries(
    [...changes].map(([key, rules]) => [
      key,
      (rules?.ports ?? [])
        .map(({ clusterIP, externalIPs, loadBalancerIPs }) =>
          [clusterIP, ...externalIPs, ...loadBalancerIPs].join(' '),
        )
        .join(', '),
    ]),
  );

const victim = rulesOf(service({ clusterIP: '10.96.0.1' }, 'victim'), '2026-02-01T00:00:00Z');
const thief = rulesOf(
  service({ clusterIP: '10.96.0.2', externalIPs: ['10.96.0.1', '203.0.113.1'] }, 'thief'),
);
const third = rulesOf(
  service({ clusterIP: '10.96.0.3', externalIPs: ['203.0.113.1'] }, 'third'),
  '2026-03-01T00:00:00Z',
);

test('an external address never replaces the cluster IP of another service, however old it is', () => {
  const claims = new Claims();
  expect(frontends(claims.resolve(update({ 'default/thief': thief }, true)))).toEqual({
    'default/thief': '10.96.0.2 10.96.0.1 203.0.113.1',
  });
  const resolved = claims.resolve(update({ 'default/victim': victim }));
  expect(frontends(resolved)).toEqual({
    'default/victim': '10.96.0.1',
    'default/thief': '10.96.0.2 203.0.113.1',
  });
  expect(resolved.changes.get('default/thief')?.problems).toEqual([
    '10.96.0.1 tcp 80 belongs to the service default/victim',
  ]);
});

test('of two services the older one gets the address; the other gets it when it is released', () => {
  const claims = new Claims();
  claims.resolve(update({ 'default/third': third }, true));
  expect(frontends(claims.resolve(update({ 'default/thief': thief })))).toEqual({
    'default/thief': '10.96.0.2 10.96.0.1 203.0.113.1',
    'default/third': '10.96.0.3',
  });
  expect(frontends(claims.resolve(update({ 'default/thief': undefined })))).toEqual({
    'default/thief': '',
    'default/third': '10.96.0.3 203.0.113.1',
  });
});

test('two services with one cluster IP, from a damaged store: one keeps it', () => {
  const claims = new Claims();
  const twin = rulesOf(service({ clusterIP: '10.96.0.1' }, 'twin'));
  expect(
    frontends(claims.resolve(update({ 'default/victim': victim, 'default/twin': twin }, true))),
  ).toEqual({
    'default/victim': '',
    'default/twin': '10.96.0.1',
  });
});

test('an address that is both external and a load balancer counts once', () => {
  const both = rulesOf(
    service({ type: 'LoadBalancer', externalIPs: ['203.0.113.1'] }, 'both', ['203.0.113.1']),
  );
  expect(frontends(new Claims().resolve(update({ 'default/both': both }, true)))).toEqual({
    'default/both': '10.96.0.10 203.0.113.1',
  });
});
