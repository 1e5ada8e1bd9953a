// An operator written with controller-runtime (webapp/) and its own kind: defaults, rules,
// conversion, status, scale, finalizer, owners.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from '../harness.ts';
import { listening, type RunningProgram, startProgram } from './processes.ts';
import { missingOperators, operatorPath } from './programs.ts';

const missing = missingKubectl ?? missingOperators(['webapp']);
const RESOURCE = 'webapps.apps.operator.example.com';

describe.skipIf(missing !== undefined)(named('an operator of controller-runtime', missing), () => {
  const directory = temporaryDir();
  const certificates = join(directory.path, 'certificates');
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  let operator: RunningProgram;
  let port: number;

  const startOperator = async (): Promise<void> => {
    const args = [
      '--kubeconfig',
      cluster.kubeconfig,
      '--port',
      String(port),
      '--certificates',
      certificates,
    ];
    operator = startProgram(operatorPath('webapp'), args);
    await listening(port, operator);
  };
  const app = (name: string, spec: object, metadata: object = {}, version = 'v1'): string =>
    stringify({
      apiVersion: `apps.operator.example.com/${version}`,
      kind: 'WebApp',
      metadata: { name, ...metadata },
      spec,
    });
  const apply = (yaml: string): ReturnType<Kubectl['try']> =>
    kubectl.try('apply -f -', { input: yaml });
  const field = (name: string, path: string): Promise<string> =>
    kubectl.run(`get webapp ${name} -o jsonpath={${path}}`);

  beforeAll(async () => {
    cluster = await coxUp(['--runtime', 'simulated', '--nodes', '2'], {
      dataDir: join(directory.path, 'data'),
    });
    kubectl = cluster.kubectl();
    port = await freePort();
    const authority = await makeTestAuthority();
    const { cert, key } = await authority.server();
    mkdirSync(certificates);
    writeFileSync(join(certificates, 'tls.crt'), cert ?? '');
    writeFileSync(join(certificates, 'tls.key'), key ?? '');
    const caBundle = Buffer.from(authority.cert).toString('base64');
    const clientConfig = (path: string): object => ({
      url: `https://127.0.0.1:${port}${path}`,
      caBundle,
    });
    const definition = parse(
      readFileSync(new URL('./webapp/definition.yaml', import.meta.url), 'utf8'),
    ) as {
      spec: object;
    };
    const conversion = {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: clientConfig('/convert') },
    };
    await kubectl.run('apply -f -', {
      input: stringify({ ...definition, spec: { ...definition.spec, conversion } }),
    });
    await kubectl.run(`wait --for=condition=Established crd/${RESOURCE} --timeout=30s`);
    await startOperator();
    const configuration = (kind: string, verb: string, operations: readonly string[]): string =>
      stringify({
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind,
        metadata: { name: 'webapp' },
        webhooks: [
          {
            name: 'webapp.apps.operator.example.com',
            clientConfig: clientConfig(`/${verb}-apps-operator-example-com-v1-webapp`),
            rules: [
              {
                apiGroups: ['apps.operator.example.com'],
                apiVersions: ['v1'],
                operations,
                resources: ['webapps'],
              },
            ],
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
          },
        ],
      });
    await kubectl.run('apply -f -', {
      input: configuration('MutatingWebhookConfiguration', 'mutate', ['CREATE', 'UPDATE']),
    });
    await kubectl.run('apply -f -', {
      input: configuration('ValidatingWebhookConfiguration', 'validate', ['*']),
    });
    // Configurations are in force a moment after they were written.
    await eventually(
      'the webhooks are called',
      async () => (await apply(app('probe', { image: 'a/b' }))).status !== 0,
    );
  });
  afterAll(async () => {
    await operator?.stop();
    await cluster?.stop();
    directory.remove();
  });

  test('a WebApp becomes a Deployment whose pods run', async () => {
    await kubectl.run('apply -f -', {
      input: app('shop', { image: 'nginx', replicas: 2, maxReplicas: 4, tier: 'gold' }),
    });
    await kubectl.run('wait --for=condition=Ready webapp/shop --timeout=60s');
    expect(await field('shop', '.spec.image')).toBe('nginx:stable');
    expect(
      await kubectl.run('get deployment shop -o jsonpath={.metadata.ownerReferences[0].kind}'),
    ).toBe('WebApp');
    expect(await kubectl.run('get wa')).toMatch(
      /^NAME +IMAGE +READY +REPLICAS +AGE\nshop +nginx:stable +True +2 +\S+\n$/,
    );
    expect(await kubectl.run('get all')).toContain('webapp.apps.operator.example.com/shop');
    expect(await kubectl.run('get events --field-selector reason=Deployed')).toContain(
      'Deployment shop created',
    );
    expect(await kubectl.run('explain webapp.spec.image')).toContain('The image to run.');
    expect(await kubectl.run(`get webapps --field-selector spec.tier=gold -o name`)).toBe(
      `${RESOURCE.replace('webapps', 'webapp')}/shop\n`,
    );
  });

  test('the webhook, the schema and the rules reject invalid objects', async () => {
    const reasons: readonly (readonly [object, string])[] = [
      [
        { image: 'registry.example.com/x' },
        'spec.image: Invalid value: "registry.example.com/x:stable": images of other registries are not allowed',
      ],
      [{ image: '' }, 'spec.image in body should be at least 1 chars long'],
      [
        { image: 'x', tier: 'bronze' },
        'Unsupported value: "bronze": supported values: "gold", "silver"',
      ],
      [
        { image: 'x', replicas: 5, maxReplicas: 4 },
        'spec.replicas: Invalid value: more replicas than maxReplicas',
      ],
    ];
    for (const [spec, reason] of reasons) {
      const { status, stderr } = await apply(app('wrong', spec));
      expect(status, reason).toBe(1);
      expect(stderr).toContain(reason);
    }
    expect(
      (await kubectl.try(`patch webapp shop --type=merge -p '{"spec":{"tier":"silver"}}'`)).stderr,
    ).toContain('tier is immutable');
    expect(
      (await kubectl.try(`patch webapp shop --type=merge -p '{"spec":{"tier":null}}'`)).stderr,
    ).toContain('tier cannot be removed');
    const { stderr } = await apply(app('moving', { image: 'nginx:latest', replicas: 0 }));
    expect(stderr).toContain('Warning: spec.image: nginx:latest changes without notice');
  });

  test('the older version is converted both ways', async () => {
    const { stderr } = await apply(app('old', { image: 'nginx', size: 1 }, {}, 'v1beta1'));
    expect(stderr).toContain('Warning: apps.operator.example.com/v1beta1 WebApp is deprecated');
    await kubectl.run('wait --for=condition=Ready webapp/old --timeout=60s');
    expect(await field('old', '.spec.replicas')).toBe('1');
    const older = await kubectl.run(
      'get webapps.v1beta1.apps.operator.example.com -o jsonpath={.items[*].spec.size}',
    );
    expect(older.split(' ')).toHaveLength(3);
    expect((await apply(app('old', { image: 'a/b', size: 1 }, {}, 'v1beta1'))).stderr).toContain(
      'images of other registries are not allowed',
    );
  });

  test('it is scaled through its subresource', async () => {
    await kubectl.run('scale webapp/shop --replicas=3');
    await kubectl.run('wait --for=jsonpath={.status.replicas}=3 webapp/shop --timeout=60s');
    await kubectl.run('wait --for=condition=Ready webapp/shop --timeout=60s');
    expect(
      await kubectl.run('get webapp shop --subresource=scale -o jsonpath={.status.selector}'),
    ).toBe('webapp=shop');
    await kubectl.run('autoscale webapp/shop --min=1 --max=3');
    expect(await kubectl.run('get hpa shop -o jsonpath={.spec.scaleTargetRef.kind}')).toBe(
      'WebApp',
    );
    await kubectl.run('delete hpa shop');
  });

  test('the finalizer is honoured, and owned objects are deleted with their owner', async () => {
    await kubectl.run('label webapp old keep=true');
    expect((await kubectl.try('delete webapp old')).stderr).toContain(
      'old is kept: remove the label keep first',
    );
    await kubectl.run('label webapp old keep-');
    const uid = await field('old', '.metadata.uid');
    await kubectl.run('delete webapp old --timeout=60s');
    expect(await kubectl.run('get configmap deleted-old -o jsonpath={.data.uid}')).toBe(uid);
    await eventually('the Deployment is gone', async () =>
      (await kubectl.try('get deployment old')).stderr.includes('NotFound'),
    );
  });

  test('without the operator, only its own kind fails', async () => {
    await operator.stop();
    const { status, stderr } = await apply(app('late', { image: 'nginx' }));
    expect(status).toBe(1);
    expect(stderr).toContain('failed calling webhook "webapp.apps.operator.example.com"');
    expect((await kubectl.try('get webapps.v1beta1.apps.operator.example.com')).stderr).toContain(
      'conversion webhook for',
    );
    await kubectl.run('get webapps');
    await kubectl.run('create configmap untouched');
    await kubectl.run('create namespace elsewhere');
    await kubectl.run('delete namespace elsewhere --timeout=60s');
    await startOperator();
    await kubectl.run('apply -f -', { input: app('late', { image: 'nginx' }) });
    await kubectl.run('wait --for=condition=Ready webapp/late --timeout=90s');
  });

  test('the definition goes with its objects', async () => {
    await kubectl.run(`delete crd ${RESOURCE} --timeout=90s`);
    expect((await kubectl.try('get --raw /apis/apps.operator.example.com')).stderr).toContain(
      'NotFound',
    );
    expect(await kubectl.run('get configmap -o name')).toContain('configmap/deleted-shop');
    await eventually(
      'the Deployments are gone',
      async () => (await kubectl.run('get deployments -o name')) === '',
    );
  });
});
