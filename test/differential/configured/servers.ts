// Both servers, started with the same flags and files.

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiServerRoleConfig, startApiServerRole } from '#cluster/roles/api-server.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { Remote } from '../remote.ts';
import { startUpstream } from '../upstream.ts';

export interface Settings {
  /** Admission plugins that run beside the default ones. */
  readonly plugins: readonly string[];
  /** The file of an AdmissionConfiguration. */
  readonly admission: object;
  readonly authorizationModes: readonly string[];
  /** The policies of ABAC. Empty: it is no mode. */
  readonly policies: readonly object[];
}

export interface Pair {
  readonly ours: Remote;
  readonly theirs: Remote;
  stop(): Promise<void>;
}

/** Throws UserError if a server does not start. */
export async function startBoth(
  { plugins, admission, authorizationModes, policies }: Settings,
  progress: (text: string) => void,
): Promise<Pair> {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-configured-'));
  const write = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  write('sa.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const token = Buffer.from(systemRandom.bytes(16)).toString('hex');
  const admissionFile = write('admission.json', JSON.stringify(admission));
  const policyText = policies.map((policy) => `${JSON.stringify(policy)}\n`).join('');
  const policyFile = policies.length === 0 ? undefined : write('policies.jsonl', policyText);
  const own: ApiServerRoleConfig = {
    store: 'memory',
    etcd: { servers: [] },
    certDir: dir,
    bindAddress: '127.0.0.1',
    securePort: 0,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    tokenAuthFile: write('tokens.csv', `${token},admin,admin,"system:masters"\n`),
    serviceClusterIpRange: '10.96.0.0/16',
    anonymousAuth: true,
    enableAdmissionPlugins: plugins,
    disableAdmissionPlugins: ['ServiceAccount'],
    admissionControlConfigFile: admissionFile,
    authorizationMode: authorizationModes,
    ...(policyFile !== undefined && { authorizationPolicyFile: policyFile }),
  };
  const theirs = await startUpstream(progress, {
    flags: {
      'enable-admission-plugins': plugins.join(','),
      'admission-control-config-file': admissionFile,
      'authorization-mode': authorizationModes.join(','),
      ...(policyFile !== undefined && { 'authorization-policy-file': policyFile }),
    },
  });
  try {
    const ours = await startApiServerRole(own);
    const remotes = [new Remote(ours.url, token), new Remote(theirs.url, theirs.token)] as const;
    return {
      ours: remotes[0],
      theirs: remotes[1],
      stop: async () => {
        for (const remote of remotes) remote.close();
        await ours.stop();
        await theirs.stop();
        rmSync(dir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await theirs.stop();
    throw error;
  }
}
