// Flags that several roles have.

import { type Command, Option } from 'commander';
import { KUBERNETES_VERSION } from '#cluster/version.ts';
import { duration, ipAddress, list, logLevel, port, yesOrNo } from '../flags.ts';

/** Flags that every role has. */
export function withLogFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--log-format <format>', 'form of the log')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addOption(new Option('--logging-format <format>', 'the same').choices(['text', 'json']))
    .option('--verbose', 'log what it does, as -v 4', false)
    .option(
      '-v, --v <level>',
      'how much is logged: 0 warnings and errors, 1 to 3 also what it does, 4 and more everything',
      logLevel,
      0,
    )
    .version(
      `Kubernetes ${KUBERNETES_VERSION.gitVersion}`,
      '--version',
      'print the version of Kubernetes that it speaks',
    );
}

export function withCommonFlags(command: Command): Command {
  return withLogFlags(command)
    .option(
      '--feature-gates <settings>',
      'gates of Kubernetes: those with their default values are accepted, others warned of',
    )
    .addHelpText(
      'after',
      `
Other flags of Kubernetes' component are known, too: those that change nothing cause a warning,
and those that must not be left out an error.`,
    );
}

export function withLeaderElection(command: Command, name: string): Command {
  return command
    .option(
      '--leader-elect [bool]',
      'work only while holding the lease, so that several may run',
      yesOrNo,
      true,
    )
    .option(
      '--leader-elect-lease-duration <duration>',
      'how long others wait after the last renewal',
      duration,
      15_000,
    )
    .option(
      '--leader-elect-renew-deadline <duration>',
      'how long the leader tries to renew before it stops working',
      duration,
      10_000,
    )
    .option('--leader-elect-retry-period <duration>', 'time between two tries', duration, 2000)
    .option('--leader-elect-resource-name <name>', 'name of the lease', name)
    .option(
      '--leader-elect-resource-namespace <namespace>',
      'namespace of the lease',
      'kube-system',
    );
}

export function withServing(command: Command, defaultPort: number): Command {
  return command
    .requiredOption(
      '--kubeconfig <file>',
      'identity of the component, and address of the API server',
    )
    .option(
      '--bind-address <address>',
      'address that serves health and metrics',
      ipAddress,
      '127.0.0.1',
    )
    .option('--secure-port <port>', 'port that serves health and metrics', port, defaultPort)
    .option(
      '--tls-cert-file <file>',
      'certificate of that port (default: one that is made at each start)',
    )
    .option('--tls-private-key-file <file>', 'key of that certificate')
    .option(
      '--client-ca-file <file>',
      'authority of client certificates on that port (default: the one that the API server publishes)',
    )
    .option(
      '--requestheader-client-ca-file <file>',
      'authority of front proxies, whose headers name users (default: there are none)',
    )
    .option(
      '--requestheader-allowed-names <names>',
      'common names of front proxies (default: all of that authority)',
      list,
    )
    .option(
      '--requestheader-username-headers <names>',
      'headers with the user (default: X-Remote-User)',
      list,
    )
    .option('--requestheader-uid-headers <names>', 'headers with the uid (default: none)', list)
    .option(
      '--requestheader-group-headers <names>',
      'headers with groups (default: X-Remote-Group)',
      list,
    )
    .option(
      '--requestheader-extra-headers-prefix <prefixes>',
      'beginnings of headers with extra fields (default: X-Remote-Extra-)',
      list,
    );
}

/** Returns the flag that chooses what runs the containers. */
export const runtimeOption = (): Option =>
  new Option(
    '--runtime <runtime>',
    'what runs the containers; auto: containerd where possible, else host processes',
  )
    .choices(['auto', 'containerd', 'process', 'simulated'])
    .default('auto');
