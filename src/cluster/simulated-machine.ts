// What a node says of a machine that is only pretended.

import type { MachineInfo } from '../kubelet/node/machine.ts';

/** The same on every machine that simulates it, so that what is shown of a node is, too. */
export function simulatedMachine(name: string): MachineInfo {
  return {
    machineID: name,
    systemUUID: name,
    bootID: name,
    kernelVersion: 'simulated',
    osImage: 'Simulated Linux',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
}
