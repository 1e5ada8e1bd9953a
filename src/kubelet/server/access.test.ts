import { expect, test } from 'vitest';
import { tokenReviews } from '#api/groups/authentication/v1/index.ts';
import { subjectAccessReviews } from '#api/groups/authorization/v1/index.ts';
import type { Client } from '#client/client.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { type AccessSettings, ApiAccess, DEFAULT_ACCESS } from './access.ts';

/**
 * An API server with one valid token, which allows all verbs except `delete`. It counts reviews.
 */
class Reviewer {
  tokens = 0;
  decisions = 0;

  access(clock: VirtualClock, settings?: Partial<AccessSettings>): ApiAccess {
    const review = async (spec: {
      readonly token?: string;
      readonly resourceAttributes?: { readonly verb: string };
    }): Promise<object> => {
      if (spec.resourceAttributes !== undefined) {
        this.decisions++;
        return { allowed: spec.resourceAttributes.verb !== 'delete' };
      }
      this.tokens++;
      return spec.token === 'valid'
        ? { authenticated: true, user: { username: 'joe', groups: ['g'] } }
        : { authenticated: false };
    };
    const resource = (type: object): object => {
      expect([tokenReviews, subjectAccessReviews]).toContain(type);
      return { create: async ({ spec }: { spec: object }) => ({ status: await review(spec) }) };
    };
    return new ApiAccess({
      client: { resource } as unknown as Client,
      clock,
      nodeName: 'n',
      settings,
    });
  }
}

const JOE = { name: 'joe', groups: ['g'] };
const attributes = (verb: string) => ({ verb, subresources: ['proxy'] });

test.each([
  ['the defaults', undefined],
  ['other times', { tokenTtlMs: 5_000, authorizedTtlMs: 7_000, unauthorizedTtlMs: 3_000 }],
])('reviews hold for their time: %s', async (_, settings) => {
  const { tokenTtlMs, authorizedTtlMs, unauthorizedTtlMs } = { ...DEFAULT_ACCESS, ...settings };
  const kinds = [
    [tokenTtlMs, (access: ApiAccess) => access.authenticate('valid')],
    [authorizedTtlMs, (access: ApiAccess) => access.authorize(JOE, attributes('get'))],
    [unauthorizedTtlMs, (access: ApiAccess) => access.authorize(JOE, attributes('delete'))],
  ] as const;
  for (const [ttlMs, ask] of kinds) {
    const clock = new VirtualClock();
    const reviewer = new Reviewer();
    const access = reviewer.access(clock, settings);
    const first = await ask(access);
    await clock.advance(ttlMs - 1);
    expect(await ask(access)).toEqual(first);
    expect(reviewer.tokens + reviewer.decisions).toBe(1);
    await clock.advance(1);
    expect(await ask(access)).toEqual(first);
    expect(reviewer.tokens + reviewer.decisions).toBe(2);
  }
});

test('an invalid token is reviewed each time', async () => {
  const reviewer = new Reviewer();
  const access = reviewer.access(new VirtualClock());
  expect([await access.authenticate('x'), await access.authenticate('x')]).toEqual([
    undefined,
    undefined,
  ]);
  expect(reviewer.tokens).toBe(2);
});

test('without webhooks no review is created', async () => {
  const reviewer = new Reviewer();
  const access = reviewer.access(new VirtualClock(), {
    tokenWebhook: false,
    authorizationMode: 'AlwaysAllow',
  });
  expect(await access.authenticate('valid')).toBeUndefined();
  expect(await access.authorize(JOE, attributes('delete'))).toBe(true);
  expect([reviewer.tokens, reviewer.decisions]).toEqual([0, 0]);
});
