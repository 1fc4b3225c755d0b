"""nova-compute of the distribution, with this folder's modules added to nova.virt: Nova takes a
compute_driver from that package alone."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [path for path in sys.path if os.path.abspath(path or '.') != HERE]

from nova.cmd import compute  # noqa: E402  patches with eventlet first
import nova.virt  # noqa: E402

nova.virt.__path__.append(HERE)
sys.argv[0] = '/usr/bin/nova-compute'
sys.exit(compute.main())
