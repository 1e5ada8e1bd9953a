// Credentials for admission webhooks: by the name of the server, in a kubeconfig.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { Api } from '#apiserver/testing/api.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { respondJson, startWebhookServer } from '#apiserver/webhooks/testing/webhook-server.ts';
import { systemClock } from '#machinery/clock.ts';
import { webhookAccess } from './access.ts';

let dir: string;
let file: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-webhook-access-'));
  file = join(dir, 'kubeconfig');
  write('*.example.com', '10.0.0.1:8443', 'hook.default.svc', '*.other.svc', '127.0.0.1');
});
afterAll(() => rmSync(dir, { recursive: true }));

function write(...names: readonly string[]): void {
  writeFileSync(
    file,
    JSON.stringify({
      users: names.map((name) => ({ name, user: { token: `token of ${name}` } })),
    }),
  );
}

const service = (namespace: string, port?: number): object => ({
  service: { namespace, name: 'hook', ...(port !== undefined && { port }) },
});

test.each<[object, string | undefined]>([
  [{ url: 'https://a.example.com/x' }, '*.example.com'],
  [{ url: 'https://a.b.example.com' }, '*.example.com'],
  [{ url: 'https://a.example.com:8443' }, undefined],
  [{ url: 'https://10.0.0.1:8443/' }, '10.0.0.1:8443'],
  [{ url: 'https://10.0.0.1/' }, undefined],
  [service('default'), 'hook.default.svc'],
  [service('default', 8443), undefined],
  [service('other'), '*.other.svc'],
  [service('third'), undefined],
  [{ url: 'not a URL' }, undefined],
])('%j has the credentials of %s', async (config, user) => {
  const access = webhookAccess({ validating: file }, systemClock);
  const token = (await access('validating', config))?.token;
  expect(token).toBe(user === undefined ? undefined : `token of ${user}`);
  expect(await access('admit', config)).toBeUndefined();
});

test('a file that cannot be read is a misconfiguration', async () => {
  const access = webhookAccess({ admit: join(dir, 'none') }, systemClock);
  await expect(access('admit', service('default'))).rejects.toMatchObject({
    name: 'WebhookCallError',
    misconfigured: true,
  });
});

test('a webhook of the type gets the token, one of another type does not', async () => {
  const webhook = await startWebhookServer({
    handler: (request, response) => {
      const review = JSON.parse(request.body) as { request: { uid: string } };
      respondJson(response, { ...review, response: { uid: review.request.uid, allowed: true } });
    },
  });
  const t = await startTestServer({ webhookKubeconfigs: { validating: file } });
  const api = new Api(t);
  for (const [resource, kind] of [
    ['mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'],
    ['validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'],
  ]) {
    const hook = {
      name: 'hook.example.com',
      clientConfig: { url: `${webhook.url}/${kind}`, caBundle: webhook.caBundle },
      rules: [
        { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['*'] },
      ],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    };
    const path = `/apis/admissionregistration.k8s.io/v1/${resource}`;
    expect((await api.post(path, { kind, metadata: { name: 'h' }, webhooks: [hook] })).code).toBe(
      201,
    );
  }
  write('*');
  const { code } = await api.post('/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'c' },
  });
  expect(code).toBe(201);
  expect(
    webhook.received.map(({ url, headers }) => [url.split('?')[0], headers.authorization]),
  ).toEqual([
    ['/MutatingWebhookConfiguration', undefined],
    ['/ValidatingWebhookConfiguration', 'Bearer token of *'],
  ]);
  await t.stop();
  await webhook.stop();
});
