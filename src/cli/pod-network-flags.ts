// Flags of the commands that run a node, for connections between its pods and those of other
// machines.

import { Option } from 'commander';
import { numberUpTo } from './flags.ts';

const MODES = ['auto', 'routes', 'vxlan', 'none'];
const MODE_HELP =
  'how pods of other machines are reached; auto: by routes on the same link, by VXLAN elsewhere; ' +
  'none: by another CNI plugin (default: auto; none with --container-runtime-endpoint)';

export const podNetworkOption = (): Option =>
  new Option('--pod-network <mode>', MODE_HELP).choices(MODES);

export const vxlanIdOption = (): Option =>
  new Option(
    '--vxlan-id <number>',
    'VXLAN network identifier, the same on all nodes (default: 1)',
  ).argParser(numberUpTo(2 ** 24 - 1, 'a network identifier'));

export const vxlanPortOption = (): Option =>
  new Option(
    '--vxlan-port <port>',
    'UDP port of VXLAN, the same on all nodes (default: 8472)',
  ).argParser(numberUpTo(65_535, 'a port'));
