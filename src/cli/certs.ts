// `cox certs`: makes certificates and kubeconfigs, and prints the paths of the files.

import {
  initCertificates,
  KUBECONFIG_ROLES,
  type KubeconfigRole,
  nodeCertificate,
  roleKubeconfig,
} from '#cluster/credentials/role-certificates.ts';
import { UserError } from '#cluster/user-error.ts';
import { type OutputFlags, writeJson } from './inspect/output.ts';
import { shortest } from './terminal.ts';

export async function init(
  options: OutputFlags & {
    readonly certDir: string;
    readonly hosts: readonly string[];
    readonly serviceClusterIpRange: string;
  },
): Promise<void> {
  writeFiles(await initCertificates(options), options);
}

/** Prints the names of the files that were made, or that were there. */
function writeFiles(
  files: readonly string[],
  { certDir, output }: OutputFlags & { readonly certDir: string },
): void {
  if (output === 'json') writeJson({ directory: certDir, files });
  else process.stdout.write(`in ${shortest(certDir)}: ${files.join(' ')}\n`);
}

export async function kubeconfig(
  role: string,
  options: OutputFlags & {
    readonly certDir: string;
    readonly server: string;
    readonly node?: string;
    readonly file?: string;
  },
): Promise<void> {
  const known = KUBECONFIG_ROLES.find((each): each is KubeconfigRole => each === role);
  if (known === undefined)
    throw new UserError(
      `there is no role ${JSON.stringify(role)}: it is one of ${KUBECONFIG_ROLES.join(', ')}`,
    );
  const path =
    options.file ?? `${options.node === undefined ? known : `${known}-${options.node}`}.conf`;
  await roleKubeconfig({ ...options, role: known, path });
  if (options.output === 'json') writeJson({ file: path });
  else process.stdout.write(`${path}\n`);
}

export async function node(
  name: string,
  options: OutputFlags & { readonly certDir: string; readonly hosts: readonly string[] },
): Promise<void> {
  writeFiles(await nodeCertificate({ ...options, node: name }), options);
}
