// Makes the certificates of separate roles in one directory, with the file names of kubeadm and
// `cox up`.

import { readdirSync } from 'node:fs';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { CSI_USER } from '../csi/csi-objects.ts';
import { INGRESS_USER } from '#ingress/index.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { ADMIN_USER } from './admin-user.ts';
import { openFrontProxy } from './front-proxy.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { firstServiceAddress, parseServiceRanges } from '../flags/network-ranges.ts';
import { Pki } from './pki.ts';
import { UserError } from '../user-error.ts';

/** The roles that have a kubeconfig. */
export const KUBECONFIG_ROLES = [
  'admin',
  'controller-manager',
  'scheduler',
  'proxy',
  'kubelet',
  'dns',
  'ingress',
  'csi-driver',
  'network-policy',
] as const;
export type KubeconfigRole = (typeof KUBECONFIG_ROLES)[number];

export interface InitCertificatesConfig {
  readonly certDir: string;
  /** Names and addresses by which the API servers are reached. */
  readonly hosts: readonly string[];
  /** The ranges of cluster IPs: pods reach the API server by the first address. */
  readonly serviceClusterIpRange: string;
}

/** The authority, and what API servers need. What is there and still serves stays. Answers the names of the files. */
export async function initCertificates(config: InitCertificatesConfig): Promise<readonly string[]> {
  const service = firstServiceAddress(
    parseServiceRanges('--service-cluster-ip-range', config.serviceClusterIpRange),
  );
  const pki = await openPki(config.certDir);
  const names = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ];
  const hosts = new Set(['localhost', '127.0.0.1', ...names, service, ...config.hosts]);
  await pki.certificate('apiserver', {
    commonName: 'kube-apiserver',
    usage: 'server',
    hosts: [...hosts],
  });
  await pki.certificate('apiserver-kubelet-client', {
    commonName: 'kube-apiserver-kubelet-client',
    usage: 'client',
  });
  const frontProxy = await openFrontProxy(pki);
  await frontProxy.certificate();
  pki.serviceAccountKeys();
  return readdirSync(config.certDir).toSorted();
}

export interface NodeCertificateConfig {
  readonly certDir: string;
  readonly node: string;
  /** Names and addresses by which the API servers reach the node. */
  readonly hosts: readonly string[];
}

/** Issues the serving certificate of a node's kubelet. Returns the names of the files. */
export async function nodeCertificate({
  certDir,
  node,
  hosts,
}: NodeCertificateConfig): Promise<readonly string[]> {
  checkNode(node);
  const pki = await openPki(certDir, true);
  const name = `kubelet-${node}`;
  await pki.certificate(name, {
    commonName: `system:node:${node}`,
    organizations: ['system:nodes'],
    usage: 'server',
    hosts: [node, ...hosts],
  });
  return [`${name}.crt`, `${name}.key`];
}

export interface RoleKubeconfigConfig {
  readonly certDir: string;
  readonly role: KubeconfigRole;
  /** The node of the role `kubelet`. */
  readonly node?: string;
  /** 'https://10.0.0.5:6443'. */
  readonly server: string;
  readonly path: string;
}

/** A kubeconfig with a certificate of its own in it. */
export async function roleKubeconfig({
  certDir,
  role,
  node,
  server,
  path,
}: RoleKubeconfigConfig): Promise<void> {
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:') {
    throw new UserError(
      `--server takes the address of an API server, such as https://10.0.0.5:6443, not '${server}'`,
    );
  }
  const { commonName, organizations } = identityOf(role, node);
  const pki = await openPki(certDir, true);
  const { cert, key } = await pki.sign({ commonName, organizations, usage: 'client' });
  const entry = {
    name: 'coxswain',
    server,
    caCertificate: pki.caCertificate,
    clientCertificate: cert,
    clientKey: key,
  };
  writeKubeconfig(path, entry);
}

function identityOf(
  role: KubeconfigRole,
  node: string | undefined,
): { commonName: string; organizations?: readonly string[] } {
  if (role !== 'kubelet' && node !== undefined)
    throw new UserError('--node is for the role kubelet');
  switch (role) {
    case 'admin':
      return { commonName: ADMIN_USER.name, organizations: ADMIN_USER.groups };
    case 'controller-manager':
    case 'proxy':
    case 'scheduler':
      return { commonName: `system:kube-${role}` };
    case 'dns':
      return { commonName: 'system:coredns' };
    case 'ingress':
      return { commonName: INGRESS_USER };
    case 'csi-driver':
      return { commonName: CSI_USER };
    case 'network-policy':
      return { commonName: 'system:coxswain:network-policy' };
    case 'kubelet':
      if (node === undefined)
        throw new UserError('the role kubelet needs the name of its node: --node NAME');
      checkNode(node);
      return { commonName: `system:node:${node}`, organizations: ['system:nodes'] };
  }
}

function checkNode(node: string): void {
  if (isDNS1123Subdomain(node).length > 0)
    throw new UserError(`${JSON.stringify(node)} is no name of a node`);
}

/** Opens the authority. `existing`: throws if there is none, because no component would trust a new one. */
async function openPki(dir: string, existing = false): Promise<Pki> {
  try {
    if (existing && !readdirSync(dir).includes('ca.key'))
      throw new Error('there is no ca.key in it');
    return await Pki.open({ clock: systemClock, random: systemRandom, dir });
  } catch (error) {
    if (error instanceof UserError)
      throw new UserError(`--cert-dir ${dir}: ${error.message}`, { cause: error });
    const hint = existing ? `: make it with 'cox certs init --cert-dir ${dir}'` : '';
    throw new UserError(`--cert-dir ${dir}: ${(error as Error).message}${hint}`, { cause: error });
  }
}
