// Runs the reference CSI driver on machines of a cluster, as docs/running-apart.md describes.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../cable.ts';
import { roleKubeconfig } from '../joined-node.ts';
import { KUBELET_ROOT, type Machine, type OnMachine } from '../machines.ts';
import { runCox, type RunningRole, startRole } from '../role.ts';

/**
 * The number of volumes that each node can have. A test uses all of them, and others run at the same
 * time with some 10 each.
 */
const MAX_VOLUMES = 64;

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';
const attacher = fileURLToPath(new URL('./attacher.yaml', import.meta.url));
const classes = fileURLToPath(new URL('./classes.yaml', import.meta.url));

/** Creates the roles of the driver's controllers, the APIs of snapshots, and classes for tests. */
export function createCsiObjects(kubectl: string, kubeconfig: string, dir: string): void {
  const permissions = join(dir, 'csi-permissions.yaml');
  writeFileSync(permissions, runCox('csi-driver', '--print-permissions'));
  for (const file of [permissions, classes])
    run(kubectl, `--kubeconfig=${kubeconfig}`, 'apply', '-f', file);
}

/** Makes the driver one whose volumes are attached. To be called before it starts. */
export const makeAttachable = (kubectl: string, kubeconfig: string): void =>
  void run(kubectl, `--kubeconfig=${kubeconfig}`, 'apply', '-f', attacher);

/** Makes the driver's class of images the default one: it has block volumes, too. */
export function makeDefaultClass(kubectl: string, kubeconfig: string): void {
  const on = [`--kubeconfig=${kubeconfig}`];
  const annotate = (name: string, value: string): string =>
    run(kubectl, ...on, 'annotate', '--overwrite', name, `${DEFAULT_CLASS}=${value}`);
  for (const name of run(kubectl, ...on, 'get', 'storageclasses', '-o', 'name').split('\n'))
    if (name !== '') annotate(name, String(name === 'storageclass.storage.k8s.io/csi-image'));
}

interface NodeDriverConfig {
  readonly machine: Machine;
  readonly inside: OnMachine;
  /** The directory of the whole cluster. */
  readonly dir: string;
  readonly clusterDir: string;
  readonly logFile: string;
}

/** Resolves when the driver serves. */
export async function startCsiDriver(config: NodeDriverConfig): Promise<RunningRole> {
  const { machine, inside, dir, clusterDir, logFile } = config;
  const { node } = machine;
  return await startRole(
    `${node} csi-driver`,
    inside,
    'csi-driver',
    {
      kubeconfig: roleKubeconfig(clusterDir, join(dir, `${node}-csi-driver.conf`), 'csi-driver'),
      'node-name': node,
      'root-dir': KUBELET_ROOT,
      'volumes-dir': join(dir, `${node}-volumes`),
      'max-volumes': String(MAX_VOLUMES),
    },
    logFile,
  );
}
