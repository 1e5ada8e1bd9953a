// The built-in provisioner of volumes: directories of nodes.

export { LocalProvisioner } from './local-provisioner.ts';
export { DEFAULT_CLASS, PROVISIONER } from './names.ts';
