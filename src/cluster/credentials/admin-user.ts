// The administrator of a cluster, as certificates and clients in the process name it.

export const ADMIN_USER = { name: 'kubernetes-admin', groups: ['system:masters'] } as const;
