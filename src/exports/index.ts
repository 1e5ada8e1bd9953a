// `coxswain`: whole clusters inside a program or a test.
//
//   const cluster = await startCluster({ nodes: 3 });
//   await cluster.apply(manifest);
//   await cluster.waitFor(deployments, 'web', 'Available');
//   await cluster.stop();

export * from '#cluster/index.ts';
export { COXSWAIN_VERSION, KUBERNETES_VERSION } from '#cluster/version.ts';
