// Runs the cases against this server. Clients and webhooks must get the same as with Kubernetes
// 1.36.3 (upstream.jsonl).

import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { send } from '#apiserver/testing/requests.ts';
import { ADMIN, startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import {
  startWebhookServer,
  type WebhookServer,
} from '#apiserver/webhooks/testing/webhook-server.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { nextTurn } from '#machinery/turn.ts';
import { CASES } from './cases.ts';
import { type CaseAnswer, CaseRunner, type Outcome, type Send } from './runner.ts';

const USER = { ...ADMIN, uid: 'admin' };
const upstream = new Map(
  readFileSync(new URL('upstream.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as [name: string, outcomes: readonly Outcome[]]),
);

let api: TestServer;
let webhook: WebhookServer;
let runner: CaseRunner;

beforeAll(async () => {
  // The start is not the beginning of 2026, so that times in the cases differ from times of the
  // run.
  const clock = new VirtualClock({ start: Date.UTC(2026, 5, 1) });
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  api = await startTestServer({
    clock,
    serviceCidr: '10.96.0.0/16',
    disableAdmissionPlugins: ['ServiceAccount'],
    serviceAccounts: { signingKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() },
  });
  const sendTo: Send = async ({
    method,
    path,
    body,
    type = 'application/json',
  }): Promise<CaseAnswer> => {
    const headers = {
      accept: 'application/json',
      'user-agent': 'differential',
      ...(body && { 'content-type': type }),
    };
    const { code, text, warnings } = await send(api.server, {
      method,
      path,
      headers,
      body: body ?? '',
      user: USER,
    });
    return { code, body: parsed(text), warnings };
  };
  webhook = await startWebhookServer({
    dnsNames: ['hook.default.svc'],
    handler: (request, response, socket) => runner.serve(request, response, socket),
  });
  const onHang = async (): Promise<void> => {
    // The head of a slow response is still on its way between two sockets of this process.
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    await clock.advance('2s');
  };
  // Objects that the server has created are older than the changes of the cases.
  await clock.advance('2s');
  runner = new CaseRunner({ send: sendTo, webhook, side: 'ours', onHang });
});

afterAll(async () => {
  await api.stop();
  await webhook.stop();
  expect(api.logger.errors).toEqual([]);
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

describe('as upstream', () => {
  test.each(
    CASES.filter(({ ownWords }) => ownWords === undefined).map(
      (each) => [each.name, each] as const,
    ),
  )('%s', async (name, each) => {
    expect(await runner.run(each)).toEqual(upstream.get(name));
  });

  test('every recorded case is tested', () => {
    expect([...upstream.keys()]).toEqual(
      CASES.filter(({ ownWords }) => ownWords === undefined).map(({ name }) => name),
    );
  });
});

test('a request whose deadline is before the webhook’s timeout', async () => {
  const [each] = CASES.filter(({ name }) => name === 'the time of the request');
  const [outcome] = await runner.run(each!);
  expect(outcome?.answer).toMatchObject({
    code: 504,
    body: {
      reason: 'Timeout',
      message: 'Timeout: request did not complete within the allotted timeout',
    },
  });
  expect(outcome?.received[0]?.url).toBe('/SIDE/0?timeout=1s');
});
