// `cox certs`: makes certificates and kubeconfigs, and prints the paths of the files.

import {
  initCertificates,
  KUBECONFIG_ROLES,
  type KubeconfigRole,
  nodeCertificate,
  roleKubeconfig,
} from '#cluster/certificates.ts';
import { UserError } from '#cluster/user-error.ts';
import { shortest } from './terminal.ts';

export async function init(options: {
  readonly certDir: string;
  readonly hosts: readonly string[];
  readonly serviceClusterIpRange: string;
}): Promise<void> {
  const files = await initCertificates(options);
  process.stdout.write(`in ${shortest(options.certDir)}: ${files.join(' ')}\n`);
}

export async function kubeconfig(
  role: string,
  options: {
    readonly certDir: string;
    readonly server: string;
    readonly node?: string;
    readonly output?: string;
  },
): Promise<void> {
  const known = KUBECONFIG_ROLES.find((each): each is KubeconfigRole => each === role);
  if (known === undefined)
    throw new UserError(
      `there is no role ${JSON.stringify(role)}: it is one of ${KUBECONFIG_ROLES.join(', ')}`,
    );
  const path =
    options.output ?? `${options.node === undefined ? known : `${known}-${options.node}`}.conf`;
  await roleKubeconfig({ ...options, role: known, path });
  process.stdout.write(`${path}\n`);
}

export async function node(
  name: string,
  options: { readonly certDir: string; readonly hosts: readonly string[] },
): Promise<void> {
  const files = await nodeCertificate({ ...options, node: name });
  process.stdout.write(`in ${shortest(options.certDir)}: ${files.join(' ')}\n`);
}
