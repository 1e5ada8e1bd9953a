// Flags of the commands that run a node: how its pods reach those of other machines.

import { type Command, Option } from 'commander';
import { numberUpTo } from './flags.ts';

export function withPodNetworkFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--pod-network <mode>',
        'how pods of other machines are reached; auto: by routes on the same link, by VXLAN elsewhere; none: by another CNI plugin ' +
          '(default: auto; none with --container-runtime-endpoint)',
      ).choices(['auto', 'routes', 'vxlan', 'none']),
    )
    .option(
      '--vxlan-id <number>',
      'VXLAN network identifier, the same on all nodes (default: 1)',
      numberUpTo(2 ** 24 - 1, 'a network identifier'),
    )
    .option('--vxlan-port <port>', 'UDP port of VXLAN, the same on all nodes (default: 8472)', numberUpTo(65_535, 'a port'));
}
