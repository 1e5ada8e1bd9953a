// The built-in provisioner: its volumes are directories of nodes.

export { LocalProvisioner } from './local-provisioner.ts';
export { DEFAULT_CLASS, PROVISIONER } from './names.ts';
