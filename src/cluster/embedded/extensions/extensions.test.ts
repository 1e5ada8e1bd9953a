import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { validatingWebhookConfigurations } from '#api/groups/admissionregistration/v1/index.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { configMaps, namespaces, secrets, type ConfigMap } from '#api/groups/core/v1/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { startWebhookServer } from '#apiserver/webhooks/testing/webhook-server.ts';
import { defineCustomResource, type KindOf } from '#client/custom-resource/index.ts';
import { defineResource } from '#client/define-resource.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { sharedCluster, withCluster } from '../testing.ts';
import { reviewAdmission } from './admission.ts';

const tenants = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Tenant',
  namespaced: false,
  shortNames: ['tn'],
  schema: {
    spec: {
      type: 'object',
      required: ['plan'],
      properties: {
        plan: { type: 'string', enum: ['free', 'paid'] },
        size: { type: 'integer', default: 1, minimum: 0 },
        limits: { type: 'object', additionalProperties: { 'x-kubernetes-int-or-string': true } },
        owners: {
          type: 'array',
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string', nullable: true } },
          },
        },
      },
    },
    status: { type: 'object', properties: { ready: { type: 'boolean' } } },
  },
  required: ['spec'],
});
type Tenant = KindOf<typeof tenants>;

/** Compiles only if the schema's type is as expected. */
const typed = (
  tenant: Tenant,
): [
  plan: 'free' | 'paid',
  owner: string | null | undefined,
  limit: string | number | undefined,
] => [tenant.spec.plan, tenant.spec.owners?.[0]?.name, tenant.spec.limits?.['cpu']];

const denied = (promise: Promise<unknown>): Promise<apierrors.StatusError> =>
  promise.then(
    () => Promise.reject(new Error('the request was allowed')),
    (error: unknown) => error as apierrors.StatusError,
  );

const map = (name: string, data: Record<string, string> = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

describe('handlers in the process', () => {
  const shared = sharedCluster({ beforeAll, afterAll }, {});

  test('change objects, in the order in which they were added, until they are removed', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    const seen: unknown[] = [];
    const first = await cluster.webhooks.mutate(configMaps, (call) => {
      seen.push([call.operation, call.oldObject?.data, call.user.username, call.dryRun]);
      call.object.data = { ...call.object.data, order: 'first' };
    });
    const second = await cluster.webhooks.mutate(configMaps, ({ object }) => [
      { op: 'replace', path: '/data/order', value: `${object.data?.['order']} second` },
    ]);
    const [created] = await cluster.apply(map('x'), { namespace });
    expect((created as ConfigMap).data).toEqual({ order: 'first second' });
    const client = cluster.client.resource(configMaps).namespace(namespace);
    await client.create({ metadata: { name: 'y' } }, { dryRun: 'All' });
    expect(seen).toEqual([
      ['CREATE', undefined, 'kubernetes-admin', false],
      ['CREATE', undefined, 'kubernetes-admin', true],
    ]);
    await first.remove();
    await first.remove();
    await second.remove();
    const plain = await client.create({ metadata: { name: 'z' } });
    expect(plain.data).toBeUndefined();
  });

  test('reject with their words, with a status, and warn', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    const client = cluster.client.resource(configMaps).namespace(namespace);
    const hook = await cluster.webhooks.validate(
      [configMaps],
      (call) => {
        call.warn('careful');
        call.annotate('reason', 'none');
        if (call.operation === 'DELETE') call.deny(`${call.object.metadata.name} stays`);
        if (call.object.data?.['quota'] === 'over') throw apierrors.tooManyRequests('slow down', 7);
        if (call.object.data?.['broken'] !== undefined) throw new RangeError('a bug');
      },
      { name: 'rules.example.com', operations: ['CREATE', 'DELETE'] },
    );
    await client.create({ metadata: { name: 'kept' } });
    const stays = await denied(client.delete('kept'));
    expect([stays.code, stays.reason, stays.message]).toEqual([
      403,
      'Forbidden',
      'admission webhook "rules.example.com" denied the request: kept stays',
    ]);
    const slow = await denied(client.create({ metadata: { name: 'a' }, data: { quota: 'over' } }));
    expect([slow.code, slow.reason, slow.status.details?.retryAfterSeconds]).toEqual([
      429,
      'TooManyRequests',
      7,
    ]);
    const bug = await denied(client.create({ metadata: { name: 'b' }, data: { broken: '' } }));
    expect([bug.code, bug.message]).toEqual([
      500,
      'Internal error occurred: failed calling webhook "rules.example.com": failed to call webhook: ' +
        'an error on the server ("a bug") has prevented the request from succeeding',
    ]);
    await hook.remove();
    await client.delete('kept');
  });

  test('obey the failure policy, selectors, conditions and subresources of their configuration', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    const client = cluster.client.resource(configMaps).namespace(namespace);
    const calls: string[] = [];
    const hooks = [
      await cluster.webhooks.validate(
        configMaps,
        () => {
          throw new Error('down');
        },
        { failurePolicy: 'Ignore' },
      ),
      await cluster.webhooks.validate(configMaps, ({ name }) => void calls.push(name), {
        objectSelector: { matchLabels: { checked: 'yes' } },
        matchConditions: [{ name: 'not-x', expression: "object.metadata.name != 'x'" }],
      }),
    ];
    await client.create({ metadata: { name: 'x', labels: { checked: 'yes' } } });
    await client.create({ metadata: { name: 'y', labels: { checked: 'yes' } } });
    await client.create({ metadata: { name: 'z' } });
    expect(calls).toEqual(['y']);
    for (const hook of hooks) await hook.remove();
    await expect(
      cluster.webhooks.validate(configMaps, () => undefined, { name: 'short' }),
    ).rejects.toThrow('should be a domain with at least three segments separated by dots');
    await expect(cluster.webhooks.validate([], () => undefined)).rejects.toThrow(TypeError);
  });

  test('have a time limit, and fail as a host that does not exist when they are gone', async () => {
    await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
      let aborted = false;
      const options = { name: 'slow.example.com', timeoutSeconds: 3 };
      const handler = ({ signal }: { readonly signal: AbortSignal }): Promise<void> =>
        new Promise(() => {
          signal.addEventListener('abort', () => (aborted = true));
        });
      const hook = await cluster.webhooks.validate(configMaps, handler, options);
      const client = cluster.client.resource(configMaps).namespace('default');
      const slow = denied(client.create({ metadata: { name: 'x' } }));
      await cluster.clock.advance('3s');
      const { message } = await slow;
      expect(message).toMatch(/calling webhook "slow\.example\.com": failed to call webhook: Post/);
      expect(message).toMatch(/\?timeout=3s": context deadline exceeded$/);
      expect(aborted).toBe(true);
      const { client: admin } = cluster;
      const configurations = admin.resource(validatingWebhookConfigurations);
      const { webhooks } = await configurations.get('slow.example.com');
      await hook.remove();
      await configurations.create({ metadata: { name: 'again.example.com' }, webhooks });
      const gone = await denied(client.create({ metadata: { name: 'x' } }));
      expect(gone.message).toMatch(
        /dial tcp: lookup validate-0001\.in-process\.invalid: no such host$/,
      );
    });
  });

  test('must not change objects while they validate', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    const hook = await cluster.webhooks.validate(configMaps, (call) => {
      call.object.data = {};
    });
    await expect(cluster.apply(map('x', { a: 'b' }), { namespace })).rejects.toThrow(
      'a validating handler must not change the object',
    );
    await hook.remove();
  });

  test('behave as the same handler behind HTTPS', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    const client = cluster.client.resource(secrets).namespace(namespace);
    const handler = (call: { object: KubeObject; deny(message: string): never }): void => {
      if (call.object.metadata.name.startsWith('bad')) call.deny('no');
      if (call.object.metadata.name.startsWith('bug')) throw new Error('a bug');
    };
    const outcomes = async (): Promise<unknown[]> => {
      const results: unknown[] = [];
      for (const name of ['good', 'bad', 'bug']) {
        const result = await client.create({ metadata: { name } }, { dryRun: 'All' }).then(
          ({ metadata }) => metadata.name,
          (error: apierrors.StatusError) => error.status,
        );
        results.push(result);
      }
      return results;
    };
    const local = await cluster.webhooks.validate(secrets, handler, { name: 'same.example.com' });
    const inProcess = await outcomes();
    await local.remove();

    const server = await startWebhookServer({
      handler: async ({ body }, response) => {
        try {
          const options = { mutating: false, signal: new AbortController().signal };
          const answer = await reviewAdmission(JSON.parse(body), handler, options);
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify(answer));
        } catch (error) {
          response.writeHead(500, { 'content-type': 'text/plain' });
          response.end((error as Error).message);
        }
      },
    });
    try {
      await cluster.client.resource(validatingWebhookConfigurations).create({
        metadata: { name: 'same.example.com' },
        webhooks: [
          {
            name: 'same.example.com',
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            clientConfig: { url: server.url, caBundle: server.caBundle },
            rules: [
              {
                apiGroups: [''],
                apiVersions: ['v1'],
                resources: ['secrets'],
                operations: ['CREATE'],
              },
            ],
          },
        ],
      });
      expect(await outcomes()).toEqual(inProcess);
    } finally {
      await cluster.delete(validatingWebhookConfigurations, 'same.example.com');
      await server.stop();
    }
  });

  test('decide what users may do', async () => {
    const { cluster } = shared;
    const alice = cluster.clientOf({ name: 'alice' });
    const list = (): Promise<unknown> => alice.resource(namespaces).list();
    expect((await denied(list())).code).toBe(403);
    const hook = cluster.webhooks.authorize(({ user, resourceAttributes }) => ({
      allowed: user === 'alice' && resourceAttributes?.verb === 'list',
      denied: resourceAttributes?.verb === 'get',
      reason: 'house rules',
    }));
    await list();
    expect((await denied(alice.resource(namespaces).get('default'))).message).toContain(
      'house rules',
    );
    await hook.remove();
    expect((await denied(list())).code).toBe(403);
    const broken = cluster.webhooks.authorize(({ user }) => {
      if (user === 'alice') throw new Error('down');
      return { allowed: false };
    });
    expect((await denied(list())).message).toContain('down');
    await broken.remove();
  });
});

describe('custom resources', () => {
  test('come from TypeScript, and are served when installed', async () => {
    await withCluster({ clock: 'virtual' }, async (cluster) => {
      await cluster.install(tenants);
      const client = cluster.client.resource(tenants);
      await client.create({ metadata: { name: 'a' }, spec: { plan: 'paid', limits: { cpu: 1 } } });
      const tenant = await client.get('a');
      expect(tenant.spec.size).toBe(1);
      expect(typed(tenant as Tenant)).toEqual(['paid', undefined, 1]);
      const invalid = client.create({ metadata: { name: 'b' }, spec: { plan: 'other' as 'paid' } });
      expect((await denied(invalid)).message).toContain('Unsupported value: "other"');
      await client.updateStatus({ ...tenant, status: { ready: true } });
      expect((await client.get('a')).status).toEqual({ ready: true });
      // Installing again is no error.
      await cluster.install([tenants]);
      const hook = await cluster.webhooks.mutate(tenants, ({ object }) => {
        object.spec.size = 5;
      });
      await cluster.apply({
        apiVersion: 'example.com/v1',
        kind: 'Tenant',
        metadata: { name: 'c' },
        spec: { plan: 'free' },
      });
      expect((await client.get('c')).spec.size).toBe(5);
      await hook.remove();
    });
  });

  test('come from files and folders, and nothing else of those is applied', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-install-'));
    try {
      const text = `${JSON.stringify(tenants.definition)}\n---\n${JSON.stringify(map('ignored'))}\n`;
      writeFileSync(join(folder, 'tenants.yaml'), text);
      writeFileSync(join(folder, 'notes.txt'), '{');
      await withCluster({ nodes: 0 }, async (cluster) => {
        for (const given of [folder, join(folder, 'tenants.yaml'), pathToFileURL(folder), text]) {
          const [installed] = await cluster.install(given);
          expect(installed?.metadata.name).toBe('tenants.example.com');
        }
        expect(await cluster.list(configMaps, { namespace: 'default' })).toEqual([]);
        await expect(cluster.install(map('x'))).rejects.toThrow(TypeError);
        await expect(cluster.install(join(folder, 'none.yaml'))).rejects.toThrow('ENOENT');
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('are converted by a function', async () => {
    await withCluster({ nodes: 0 }, async (cluster) => {
      const schema = {
        openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      };
      await cluster.install({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'boats.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Namespaced',
          names: { plural: 'boats', kind: 'Boat' },
          versions: [
            { name: 'v1', served: true, storage: true, schema },
            { name: 'v2', served: true, storage: false, schema },
          ],
        },
      });
      type Boat = KubeObject & { crew?: number; spec?: { crew: number } };
      const [v1, v2] = ['v1', 'v2'].map((version) =>
        defineResource<Boat>({ group: 'example.com', version, kind: 'Boat', resource: 'boats' }),
      ) as [ReturnType<typeof defineResource<Boat>>, ReturnType<typeof defineResource<Boat>>];
      const hook = await cluster.webhooks.convert(v1, (object, to) => {
        const { crew, spec, ...rest } = object as Boat;
        if (crew === 13) throw new Error('unlucky');
        return to === 'example.com/v2'
          ? { ...rest, spec: { crew } }
          : { ...rest, crew: spec?.crew };
      });
      const [old, current] = [v1, v2].map((type) =>
        cluster.client.resource(type).namespace('default'),
      ) as [
        ReturnType<typeof cluster.client.resource<Boat>>,
        ReturnType<typeof cluster.client.resource<Boat>>,
      ];
      await old.create({ metadata: { name: 'a' }, crew: 8 });
      expect((await current.get('a')).spec).toEqual({ crew: 8 });
      await old.create({ metadata: { name: 'b' }, crew: 13 });
      expect((await denied(current.get('b'))).message).toBe(
        'conversion webhook for example.com/v1, Kind=Boat failed: unlucky',
      );
      await hook.remove();
      const { spec } = await cluster.get(customResourceDefinitions, 'boats.example.com');
      expect(spec.conversion).toEqual({ strategy: 'None' });
      expect((await current.get('b')).crew).toBe(13);
      const missing = defineResource({
        group: 'example.com',
        version: 'v1',
        kind: 'X',
        resource: 'xs',
      });
      await expect(cluster.webhooks.convert(missing, (object) => object)).rejects.toSatisfy(
        apierrors.isNotFound,
      );
    });
  });
});
