// `cox envtest` and `cox envtest etcd`.

import { realpathSync } from 'node:fs';
import { findProgram } from '#cluster/machine/install.ts';
import { KUBERNETES_VERSION } from '#cluster/version.ts';
import { type OutputFlags, writeJson } from '../inspect/output.ts';
import { stopSignal } from '../terminal.ts';
import { startEtcdStub } from './etcd-stub.ts';
import { defaultEnvtestDir, writeEnvtestDir } from './layout.ts';

/** Lays out the folder, and prints its path alone on standard output. */
export function envtest({ dir, output }: OutputFlags & { readonly dir?: string }): void {
  const script = realpathSync(process.argv[1] ?? '');
  const kubectl = findProgram('kubectl');
  if (kubectl === undefined)
    process.stderr.write('cox: warning: there is no kubectl in PATH, so the folder has none\n');
  const path = writeEnvtestDir(dir ?? defaultEnvtestDir(KUBERNETES_VERSION.gitVersion, script), {
    script,
    node: process.execPath,
    ...(kubectl !== undefined && { kubectl: realpathSync(kubectl) }),
  });
  if (output === 'json') writeJson({ path });
  else process.stdout.write(`${path}\n`);
}

/** Serves health checks until a signal stops it. */
export async function envtestEtcd({
  listenClientUrls,
}: {
  readonly listenClientUrls: readonly string[];
}): Promise<void> {
  const stub = await startEtcdStub(listenClientUrls);
  process.stderr.write(
    `ready: stands in for etcd at ${stub.urls.join(', ')}; objects are kept by the API server, in memory\n`,
  );
  const { signal } = stopSignal();
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await stub.stop();
}
