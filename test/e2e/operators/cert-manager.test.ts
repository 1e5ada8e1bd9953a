// cert-manager: its chart installs its kinds and webhooks; its controllers, webhook and CA injector
// run beside the cluster; and certificates are issued, renewed and removed.

import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from '../harness.ts';
import { listening, type RunningProgram, startProgram } from './processes.ts';
import { missingOperators, operatorPath } from './programs.ts';

const missing = missingKubectl ?? missingOperators(['certmanager', 'cert-manager-chart', 'helm']);

describe.skipIf(missing !== undefined)(named('cert-manager', missing), () => {
  const directory = temporaryDir();
  const programs: RunningProgram[] = [];
  let cluster: RunningCluster;
  let kubectl: Kubectl;

  const helm = async (...args: string[]): Promise<string> => {
    const env = { KUBECONFIG: cluster.kubeconfig, HOME: directory.path };
    const { status, stdout, stderr } = await run(operatorPath('helm'), args, {
      env,
      timeoutMs: 120_000,
    });
    expect(status, stderr).toBe(0);
    return stdout;
  };
  const start = (part: string, ...flags: string[]): RunningProgram => {
    const program = startProgram(operatorPath('certmanager'), [
      part,
      '--kubeconfig',
      cluster.kubeconfig,
      ...flags,
    ]);
    programs.push(program);
    return program;
  };
  const manifest = (kind: string, name: string, spec: object): string =>
    stringify({ apiVersion: 'cert-manager.io/v1', kind, metadata: { name }, spec });
  const certificate = (name: string, issuer: string, spec: object): string =>
    manifest('Certificate', name, {
      secretName: `${name}-tls`,
      issuerRef: { name: issuer, kind: 'Issuer' },
      ...spec,
    });
  const apply = (yaml: string): Promise<string> => kubectl.run('apply -f -', { input: yaml });
  const issued = async (name: string): Promise<X509Certificate> => {
    const encoded = await kubectl.run(`get secret ${name}-tls -o 'jsonpath={.data.tls\\.crt}'`);
    return new X509Certificate(Buffer.from(encoded, 'base64'));
  };

  beforeAll(async () => {
    cluster = await coxUp(['--runtime', 'simulated', '--nodes', '1'], {
      dataDir: join(directory.path, 'data'),
    });
    kubectl = cluster.kubectl();
    const port = await freePort();
    const settings = [
      'crds.enabled=true',
      'crds.keep=false',
      'startupapicheck.enabled=false',
      `webhook.url.host=localhost:${port}`,
    ];
    const none = ['replicaCount=0', 'webhook.replicaCount=0', 'cainjector.replicaCount=0'];
    const flags = [...settings, ...none].flatMap((value) => ['--set', value]);
    await helm(
      'install',
      'cert-manager',
      operatorPath('cert-manager-chart'),
      '-n',
      'cert-manager',
      '--create-namespace',
      ...flags,
    );
    await kubectl.run('wait --for=condition=Established crd --all --timeout=60s');
    const webhook = start('webhook', '--port', String(port), '--host', 'localhost');
    start('cainjector');
    start('controller');
    await listening(port, webhook);
    try {
      await eventually('the webhooks have their CA', async () => {
        const path = 'jsonpath={.webhooks[*].clientConfig.caBundle}';
        return (
          (await kubectl.run(
            `get validatingwebhookconfiguration cert-manager-webhook -o ${path}`,
          )) !== ''
        );
      });
      await eventually(
        'issuers are accepted',
        async () =>
          (
            await kubectl.try('apply -f -', {
              input: manifest('Issuer', 'self', { selfSigned: {} }),
            })
          ).status === 0,
      );
    } catch (error) {
      throw new Error(programs.map((program) => program.output().slice(-3000)).join('\n----\n'), {
        cause: error,
      });
    }
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      for (const program of programs)
        process.stderr.write(`\n----\n${program.output().slice(-20_000)}`);
    });
  });
  afterAll(async () => {
    await Promise.all(programs.map((program) => program.stop()));
    await cluster?.stop();
    directory.remove();
  });

  test('issues a self-signed certificate into a secret', async () => {
    await kubectl.run('wait --for=condition=Ready issuer/self --timeout=60s');
    await apply(
      certificate('site', 'self', { dnsNames: ['site.example.com'], commonName: 'site' }),
    );
    await kubectl.run('wait --for=condition=Ready certificate/site --timeout=90s');
    expect((await issued('site')).subjectAltName).toBe('DNS:site.example.com');
    expect(await kubectl.run('get certificates')).toMatch(
      /^NAME +READY +SECRET +AGE\nsite +True +site-tls +\S+\n$/,
    );
    expect(
      await kubectl.run(
        'get certificaterequests -o jsonpath={.items[*].metadata.ownerReferences[0].kind}',
      ),
    ).toBe('Certificate');
    expect(
      await kubectl.run('get events --field-selector involvedObject.kind=Certificate'),
    ).toContain('The certificate has been successfully issued');
  });

  test('a CA issues certificates that verify against it', async () => {
    await apply(certificate('authority', 'self', { isCA: true, commonName: 'authority' }));
    await kubectl.run('wait --for=condition=Ready certificate/authority --timeout=90s');
    await apply(manifest('Issuer', 'authority', { ca: { secretName: 'authority-tls' } }));
    await kubectl.run('wait --for=condition=Ready issuer/authority --timeout=60s');
    await apply(certificate('leaf', 'authority', { dnsNames: ['leaf.example.com'] }));
    await kubectl.run('wait --for=condition=Ready certificate/leaf --timeout=90s');
    expect((await issued('leaf')).verify((await issued('authority')).publicKey)).toBe(true);
  });

  test('renews after a change of the certificate, and after the loss of the secret', async () => {
    const first = (await issued('site')).serialNumber;
    await kubectl.run(
      `patch certificate site --type=merge -p '{"spec":{"dnsNames":["other.example.com"]}}'`,
    );
    await eventually(
      'another name',
      async () => (await issued('site')).subjectAltName === 'DNS:other.example.com',
    );
    const second = (await issued('site')).serialNumber;
    expect(second).not.toBe(first);
    // cert-manager applies a secret more than once while it issues. A late request recreates a
    // secret that was deleted meanwhile, with the same certificate. Therefore the test deletes the
    // secret until another certificate is in it.
    await eventually('another secret', async () => {
      const { status } = await kubectl.try('get secret site-tls');
      if (status !== 0) return false;
      if ((await issued('site')).serialNumber !== second) return true;
      await kubectl.run('delete secret site-tls --ignore-not-found');
      return false;
    });
    await kubectl.run('wait --for=condition=Ready certificate/site --timeout=60s');
  });

  test('its webhook and schema reject invalid objects', async () => {
    const wrong: readonly (readonly [string, string])[] = [
      [
        certificate('wrong', 'self', { dnsNames: ['a'], duration: '1m' }),
        'certificate duration must be greater than 1h0m0s',
      ],
      [certificate('wrong', 'self', {}), 'at least one of'],
      [manifest('Certificate', 'wrong', { secretName: 'x' }), 'spec.issuerRef: Required value'],
      [manifest('Issuer', 'wrong', {}), 'at least one issuer must be configured'],
    ];
    for (const [yaml, reason] of wrong) {
      const { status, stderr } = await kubectl.try('apply -f -', { input: yaml });
      expect([status, stderr], yaml).toEqual([1, expect.stringContaining(reason)]);
    }
  });

  test('uninstalls with its kinds', async () => {
    await kubectl.run('delete certificate --all --timeout=60s');
    await eventually(
      'its requests are gone',
      async () => (await kubectl.run('get certificaterequests -o name')) === '',
    );
    await helm('uninstall', 'cert-manager', '-n', 'cert-manager', '--wait');
    await eventually(
      'its kinds are gone',
      async () => (await kubectl.run('get crd -o name')) === '',
    );
    await kubectl.run('delete namespace cert-manager --timeout=90s', { timeoutMs: 100_000 });
    expect(await kubectl.run('get secret -o name')).toContain('secret/leaf-tls');
  });
});
