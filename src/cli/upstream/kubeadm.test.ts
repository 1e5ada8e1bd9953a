// The command lines in the static pods that kubeadm 1.36 writes (cmd/kubeadm/app/phases/controlplane),
// as data: our roles take them as they are.

import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../cox.ts';
import { UPSTREAM_FLAGS } from '../role-commands.ts';
import { readArguments } from './arguments.ts';

const PKI = '/etc/kubernetes/pki';
const KUBECONFIG = '/etc/kubernetes/controller-manager.conf';

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  apiserver: [
    '--advertise-address=192.0.2.10',
    '--allow-privileged=true',
    '--authorization-mode=Node,RBAC',
    `--client-ca-file=${PKI}/ca.crt`,
    '--enable-admission-plugins=NodeRestriction',
    '--enable-bootstrap-token-auth=true',
    `--etcd-cafile=${PKI}/etcd/ca.crt`,
    `--etcd-certfile=${PKI}/apiserver-etcd-client.crt`,
    `--etcd-keyfile=${PKI}/apiserver-etcd-client.key`,
    '--etcd-servers=https://127.0.0.1:2379',
    `--kubelet-client-certificate=${PKI}/apiserver-kubelet-client.crt`,
    `--kubelet-client-key=${PKI}/apiserver-kubelet-client.key`,
    '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
    `--proxy-client-cert-file=${PKI}/front-proxy-client.crt`,
    `--proxy-client-key-file=${PKI}/front-proxy-client.key`,
    '--requestheader-allowed-names=front-proxy-client',
    `--requestheader-client-ca-file=${PKI}/front-proxy-ca.crt`,
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User',
    '--secure-port=6443',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${PKI}/sa.pub`,
    `--service-account-signing-key-file=${PKI}/sa.key`,
    '--service-cluster-ip-range=10.96.0.0/12',
    `--tls-cert-file=${PKI}/apiserver.crt`,
    `--tls-private-key-file=${PKI}/apiserver.key`,
  ],
  'controller-manager': [
    '--allocate-node-cidrs=true',
    `--authentication-kubeconfig=${KUBECONFIG}`,
    `--authorization-kubeconfig=${KUBECONFIG}`,
    '--bind-address=127.0.0.1',
    `--client-ca-file=${PKI}/ca.crt`,
    '--cluster-cidr=10.244.0.0/16',
    '--cluster-name=kubernetes',
    `--cluster-signing-cert-file=${PKI}/ca.crt`,
    `--cluster-signing-key-file=${PKI}/ca.key`,
    '--controllers=*,bootstrapsigner,tokencleaner',
    `--kubeconfig=${KUBECONFIG}`,
    '--leader-elect=true',
    `--requestheader-client-ca-file=${PKI}/front-proxy-ca.crt`,
    `--root-ca-file=${PKI}/ca.crt`,
    `--service-account-private-key-file=${PKI}/sa.key`,
    '--service-cluster-ip-range=10.96.0.0/12',
    '--use-service-account-credentials=true',
  ],
  scheduler: [
    '--authentication-kubeconfig=/etc/kubernetes/scheduler.conf',
    '--authorization-kubeconfig=/etc/kubernetes/scheduler.conf',
    '--bind-address=127.0.0.1',
    '--kubeconfig=/etc/kubernetes/scheduler.conf',
    '--leader-elect=true',
  ],
  kubelet: [
    '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf',
    '--kubeconfig=/etc/kubernetes/kubelet.conf',
    '--config=/var/lib/kubelet/config.yaml',
    '--container-runtime-endpoint=unix:///var/run/containerd/containerd.sock',
    '--hostname-override=node-1',
  ],
};

/**
 * Flags without an effect here, each with a warning: reviews are requested with --kubeconfig, whose
 * file these flags name again.
 */
const WARNED: Readonly<Record<string, readonly string[]>> = {
  'controller-manager': ['authentication-kubeconfig', 'authorization-kubeconfig'],
  scheduler: ['authentication-kubeconfig', 'authorization-kubeconfig'],
};

const commandOf = (name: string): Command =>
  createProgram().commands.find((each) => each.name() === name) as Command;

describe.each(Object.keys(COMMANDS))('%s', (name) => {
  const given = COMMANDS[name] ?? [];

  test("kubeadm's flags are taken", async () => {
    const command = commandOf(name);
    const flags = UPSTREAM_FLAGS.get(name) ?? [];
    const { args, warnings } = readArguments(given, flags, command);
    const warned = warnings.map((text) => /^--([a-z-]+)/.exec(text)?.[1] ?? text);
    expect(warned).toEqual(WARNED[name] ?? []);
    let options: Readonly<Record<string, unknown>> = {};
    command.action((taken: Readonly<Record<string, unknown>>) => void (options = taken));
    await command.parseAsync([...args], { from: 'user' });
    const camel = (flag: string): string =>
      flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const missing = given
      .map((text) => text.slice(2).split('=')[0] as string)
      .filter((flag) => args.some((arg) => arg.startsWith(`--${flag}=`)))
      .filter((flag) => options[camel(flag)] === undefined);
    expect(missing).toEqual([]);
  });
});
