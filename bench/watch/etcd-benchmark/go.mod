// etcd's own benchmark, built from its published module: see ../etcd.ts. Nothing but that needs it.
module coxswain.dev/bench/etcd

go 1.24.0

require go.etcd.io/etcd/v3 v3.6.8
