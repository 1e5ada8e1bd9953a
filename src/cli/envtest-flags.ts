// The flags of `cox envtest`, and of the programs that it stands in for.

import type { Command } from 'commander';
import { list } from './flags.ts';
import { outputOption } from './inspect/output.ts';

export function addEnvtest(program: Command): void {
  const envtest = program
    .command('envtest')
    .description(
      "lay out a folder for KUBEBUILDER_ASSETS, with this server in the place of upstream's " +
        'programs, and print its path',
    )
    .option('--dir <dir>', 'the folder (default: one in the cache of the user)')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Examples:
  $ export KUBEBUILDER_ASSETS=$(cox envtest)
  $ go test ./...                              with garbage collection
  $ COX_ENVTEST_NODES=2 go test ./...          with all controllers, and nodes on which pods run
  $ COX_ENVTEST_CONTROLLERS= go test ./...     the API server alone, as upstream's`,
    )
    .action(async (options: { readonly dir?: string; readonly output?: 'json' }) => {
      const { envtest: layOut } = await import('./envtest/envtest.ts');
      layOut(options);
    });
  envtest
    .command('etcd', { hidden: true })
    .description('stand in for etcd: answer health checks')
    .requiredOption('--listen-client-urls <urls>', 'where to listen', list)
    // Suites pass etcd's flags about storage and peers: there are neither.
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (options: { readonly listenClientUrls: readonly string[] }) => {
      const { envtestEtcd } = await import('./envtest/envtest.ts');
      await envtestEtcd(options);
    });
}
