// Copies the part of upstream's source tree that test-cmd.sh needs, with the built programs in
// place.

import { chmodSync, cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Folders of the module that the script and its test functions read. */
const FOLDERS = [
  'hack',
  'test/cmd',
  'test/fixtures',
  'test/e2e/testing-manifests',
  'third_party/forked/shell2junit',
];

export interface TreeConfig {
  /** Root of upstream's sources. */
  readonly source: string;
  /** An empty directory. */
  readonly tree: string;
  readonly kubectl: string;
  readonly kubectlConvert: string;
  /** Shell commands that start the servers; the script appends its flags. */
  readonly apiServer: string;
  readonly controllerManager: string;
}

/**
 * Copies the files of the script to `tree`. Files of Go's module cache are read-only and have lost
 * their modes: both are restored.
 */
export function makeTree({
  source,
  tree,
  kubectl,
  kubectlConvert,
  apiServer,
  controllerManager,
}: TreeConfig): void {
  for (const folder of FOLDERS) {
    cpSync(join(source, folder), join(tree, folder), { recursive: true });
  }
  for (const path of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    chmodSync(join(path.parentPath, path.name), 0o755);
  }
  cpSync(join(here, 'record.sh'), join(tree, 'third_party/forked/shell2junit/sh2ju.sh'));

  const bin = join(tree, '_output', 'bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(kubectl, join(bin, 'kubectl'));
  symlinkSync(kubectlConvert, join(bin, 'kubectl-convert'));
  writeProgram(join(bin, 'kube-apiserver'), `exec ${apiServer} "$@"`);
  writeProgram(join(bin, 'kube-controller-manager'), `exec ${controllerManager} "$@"`);
  // Everything is built already, and the kubeadm part of the script is not about a server.
  writeProgram(join(bin, 'make'), 'exit 0');
}

function writeProgram(path: string, command: string): void {
  writeFileSync(path, `#!/usr/bin/env bash\n${command}\n`, { mode: 0o755 });
}
