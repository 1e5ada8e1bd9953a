// The server's responses to wrong input: each has the right code and reason, and the server keeps
// working.

import { request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  coxUp,
  type Kubectl,
  missingKubectl,
  named,
  readFileSync,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';
import { replicaSet } from './manifests.ts';

interface Answer {
  readonly code: number;
  readonly status: {
    reason?: string;
    message?: string;
    code?: number;
    details?: { causes?: { field: string; reason: string; message: string }[] };
  };
}

describe('bad input', () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  beforeAll(async () => {
    dir = temporaryDir();
    cluster = await coxUp(['--runtime', 'simulated'], { dataDir: dir.path });
  });
  afterAll(async () => {
    await cluster?.stop();
    dir.remove();
  });

  async function send(
    method: string,
    path: string,
    body?: string | Buffer,
    headers: Record<string, string> = {},
    withCertificate = true,
  ): Promise<Answer> {
    const config = parse(readFileSync(cluster.kubeconfig, 'utf8'));
    const decode = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
    const user = config.users[0].user;
    const answer = await new Promise<{ code: number; text: string }>((resolve, reject) => {
      const request = httpsRequest(
        `${config.clusters[0].cluster.server}${path}`,
        {
          method,
          ca: decode(config.clusters[0].cluster['certificate-authority-data']),
          ...(withCertificate && {
            cert: decode(user['client-certificate-data']),
            key: decode(user['client-key-data']),
          }),
          headers: { 'content-type': 'application/json', ...headers },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({
              code: response.statusCode ?? 0,
              text: Buffer.concat(chunks).toString('utf8'),
            }),
          );
        },
      );
      request.on('error', reject);
      request.end(body);
    });
    try {
      return { code: answer.code, status: JSON.parse(answer.text) };
    } catch (error) {
      throw new Error(`not a Status: ${answer.code} ${answer.text}`, { cause: error });
    }
  }

  const configMaps = '/api/v1/namespaces/default/configmaps';
  const configMap = (extra: object): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', ...extra });

  test.each<
    [
      what: string,
      method: string,
      path: string,
      body: string | undefined,
      headers: Record<string, string>,
      code: number,
      reason: string,
      message: RegExp,
    ]
  >([
    ['JSON that is none', 'POST', configMaps, '{"kind": ', {}, 400, 'BadRequest', /./],
    [
      'YAML that is none',
      'POST',
      configMaps,
      'a: [',
      { 'content-type': 'application/yaml' },
      400,
      'BadRequest',
      /yaml|YAML/,
    ],
    ['no body', 'POST', configMaps, '', {}, 400, 'BadRequest', /./],
    ['a list where an object belongs', 'POST', configMaps, '[]', {}, 400, 'BadRequest', /./],
    [
      'another kind',
      'POST',
      configMaps,
      JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }),
      {},
      400,
      'BadRequest',
      /Secret/,
    ],
    [
      'a wrong type',
      'POST',
      configMaps,
      configMap({ metadata: { name: 'x' }, data: { a: 1 } }),
      {},
      400,
      'BadRequest',
      /cannot unmarshal number into Go struct field ConfigMap\.data of type string/,
    ],
    [
      'an unknown field, strictly',
      'POST',
      `${configMaps}?fieldValidation=Strict`,
      configMap({ metadata: { name: 'x' }, dat: {} }),
      {},
      400,
      'BadRequest',
      /strict decoding error: unknown field "dat"/,
    ],
    [
      'a field twice, strictly',
      'POST',
      `${configMaps}?fieldValidation=Strict`,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","a":"2"}}',
      {},
      400,
      'BadRequest',
      /duplicate field "data\.a"/,
    ],
    [
      'a name that is none',
      'POST',
      configMaps,
      configMap({ metadata: { name: 'A B' } }),
      {},
      422,
      'Invalid',
      /metadata\.name: Invalid value: "A B"/,
    ],
    [
      'no name',
      'POST',
      configMaps,
      configMap({ metadata: {} }),
      {},
      422,
      'Invalid',
      /name or generateName is required/,
    ],
    [
      'a label that is none',
      'POST',
      configMaps,
      configMap({ metadata: { name: 'x', labels: { a: 'not valid!' } } }),
      {},
      422,
      'Invalid',
      /metadata\.labels/,
    ],
    [
      'another namespace',
      'POST',
      configMaps,
      configMap({ metadata: { name: 'x', namespace: 'kube-system' } }),
      {},
      400,
      'BadRequest',
      /does not match the namespace/,
    ],
    [
      'a namespace that is not there',
      'POST',
      '/api/v1/namespaces/nowhere/configmaps',
      configMap({ metadata: { name: 'x' } }),
      {},
      404,
      'NotFound',
      /namespaces "nowhere" not found/,
    ],
    [
      'an object that is not there',
      'GET',
      `${configMaps}/nothing`,
      undefined,
      {},
      404,
      'NotFound',
      /configmaps "nothing" not found/,
    ],
    [
      'a media type that is not spoken',
      'POST',
      configMaps,
      'x',
      { 'content-type': 'text/csv' },
      415,
      'UnsupportedMediaType',
      /./,
    ],
    [
      'a wish that cannot be met',
      'GET',
      configMaps,
      undefined,
      { accept: 'image/png' },
      406,
      'NotAcceptable',
      /./,
    ],
    [
      'a selector that is none',
      'GET',
      `${configMaps}?labelSelector=a%20in%20(`,
      undefined,
      {},
      400,
      'BadRequest',
      /./,
    ],
    [
      'a field that cannot be selected by',
      'GET',
      `${configMaps}?fieldSelector=data.a%3Db`,
      undefined,
      {},
      400,
      'BadRequest',
      /field label not supported|not a known field selector/,
    ],
    [
      'a resourceVersion that is none',
      'GET',
      `${configMaps}?resourceVersion=abc`,
      undefined,
      {},
      400,
      'BadRequest',
      /./,
    ],
    [
      'a continue token that is none',
      'GET',
      `${configMaps}?limit=1&continue=abc`,
      undefined,
      {},
      400,
      'BadRequest',
      /continue/,
    ],
    [
      'a verb that is not served',
      'DELETE',
      '/api/v1/namespaces',
      undefined,
      {},
      405,
      'MethodNotAllowed',
      /./,
    ],
    [
      'a dry run that is none',
      'POST',
      `${configMaps}?dryRun=Some`,
      configMap({ metadata: { name: 'x' } }),
      {},
      422,
      'Invalid',
      /dryRun/,
    ],
    [
      'a patch of what is not there',
      'PATCH',
      `${configMaps}/nothing`,
      '{}',
      { 'content-type': 'application/merge-patch+json' },
      404,
      'NotFound',
      /./,
    ],
    [
      'the deletion of a namespace that stays',
      'DELETE',
      '/api/v1/namespaces/default',
      undefined,
      {},
      403,
      'Forbidden',
      /this namespace may not be deleted/,
    ],
  ])('%s', async (_, method, path, body, headers, code, reason, message) => {
    const answer = await send(method, path, body, headers);
    expect({ code: answer.code, reason: answer.status.reason, inBody: answer.status.code }).toEqual(
      {
        code,
        reason,
        inBody: code,
      },
    );
    expect(answer.status.message).toMatch(message);
  });

  test('a body that is too large, and a body that is nested too deeply', async () => {
    const large = await send(
      'POST',
      configMaps,
      configMap({ metadata: { name: 'x' }, data: { a: 'x'.repeat(3 * 1024 * 1024) } }),
    );
    expect([large.code, large.status.reason]).toEqual([413, 'RequestEntityTooLarge']);
    const deep = await send(
      'POST',
      configMaps,
      `{"kind":"ConfigMap","apiVersion":"v1","data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    );
    expect([deep.code, deep.status.reason]).toEqual([400, 'BadRequest']);
  });

  test('__proto__ is only a key', async () => {
    const answer = await send(
      'POST',
      configMaps,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto"},"data":{"__proto__":"x"}}',
    );
    expect(answer.code).toBe(201);
    expect(JSON.stringify((await send('GET', `${configMaps}/proto`)).status)).toContain(
      '"__proto__":"x"',
    );
  });

  test('an outdated resourceVersion', async () => {
    const made = await send('POST', configMaps, configMap({ metadata: { name: 'versions' } }));
    const object = made.status as unknown as { metadata: { resourceVersion: string } };
    expect(
      (await send('PUT', `${configMaps}/versions`, JSON.stringify({ ...object, data: { a: '1' } })))
        .code,
    ).toBe(200);
    const stale = await send(
      'PUT',
      `${configMaps}/versions`,
      JSON.stringify({ ...object, data: { a: '2' } }),
    );
    expect([stale.code, stale.status.reason]).toEqual([409, 'Conflict']);
    expect(stale.status.message).toBe(
      'Operation cannot be fulfilled on configmaps "versions": the object has been modified; ' +
        'please apply your changes to the latest version and try again',
    );
    expect(
      (await send('POST', configMaps, configMap({ metadata: { name: 'versions' } }))).status,
    ).toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
      message: 'configmaps "versions" already exists',
    });
  });

  test('an anonymous user sees only health and version', async () => {
    for (const path of ['/api/v1/namespaces/default/secrets', '/apis', '/metrics', '/openapi/v2']) {
      const answer = await send('GET', path, undefined, {}, false);
      expect([path, answer.code]).toEqual([path, answer.code === 401 ? 401 : 403]);
    }
    expect((await send('GET', '/version', undefined, {}, false)).code).toBe(200);
    const token = await send('GET', '/api', undefined, { authorization: 'Bearer wrong' }, false);
    expect([token.code, token.status.reason]).toEqual([401, 'Unauthorized']);
  });

  describe.skipIf(missingKubectl !== undefined)(
    named('as kubectl shows it', missingKubectl),
    () => {
      let kubectl: Kubectl;
      beforeAll(() => {
        kubectl = cluster.kubectl();
      });

      test('a selector that does not match the template', async () => {
        const result = await kubectl.try('apply -f -', {
          input: replicaSet('bad', 1).replace(
            'matchLabels: { app: bad }',
            'matchLabels: { app: good }',
          ),
        });
        expect(result.status).toBe(1);
        expect(result.stderr).toContain(
          'The ReplicaSet "bad" is invalid: spec.template.metadata.labels: Invalid value: ',
        );
        expect(result.stderr).toContain('`selector` does not match template `labels`');
      });

      test('an unknown field', async () => {
        const result = await kubectl.try('apply -f -', {
          input: replicaSet('bad', 1).replace('replicas:', 'replicaz:'),
        });
        expect(result.status).toBe(1);
        expect(result.stderr).toMatch(/unknown field "spec\.replicaz"/);
      });

      test('several problems at once', async () => {
        const result = await kubectl.try('apply -f -', {
          input:
            'apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {restartPolicy: ' +
            'Sometimes, containers: [{name: A, image: ""}]}',
        });
        expect(result.stderr).toMatch(/^The Pod "bad" is invalid: \n/);
        expect(result.stderr).toContain('* spec.containers[0].image: Required value');
        expect(result.stderr).toContain('* spec.restartPolicy: Unsupported value: "Sometimes"');
      });

      test('a missing resource', async () => {
        expect((await kubectl.try('get --raw /api/v1/bananas')).stderr).toBe(
          'Error from server (NotFound): the server could not find the requested resource\n',
        );
        expect((await kubectl.try('get bananas')).stderr).toBe(
          'error: the server doesn\'t have a resource type "bananas"\n',
        );
      });

      test('a terminating namespace', async () => {
        await kubectl.run('create ns leaving');
        await kubectl.run(`create -f -`, {
          input:
            'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: leaving, ' +
            'finalizers: [example.com/hold]}',
        });
        await kubectl.run('delete ns leaving --wait=false');
        const refused = await kubectl.try('create configmap late -n leaving');
        expect(refused.stderr).toContain(
          'configmaps "late" is forbidden: unable to create new content in namespace leaving ' +
            'because it is being terminated',
        );
        await kubectl.run(
          `patch configmap held -n leaving --type=merge -p '{"metadata":{"finalizers":null}}'`,
        );
        await kubectl.run('wait --for=delete ns/leaving --timeout=60s');
      });

      test('server-side apply of a field that does not exist', async () => {
        const input = replicaSet('bad', 1).replace('replicas:', 'replicsa:');
        const result = await kubectl.try('apply --server-side --validate=false -f -', { input });
        expect(result.status).toBe(1);
        expect(result.stderr).toBe(
          'Error from server (BadRequest): failed to create typed patch object (default/bad; ' +
            'apps/v1, Kind=ReplicaSet): .spec.replicsa: field not declared in schema\n',
        );
      });
    },
  );
});
