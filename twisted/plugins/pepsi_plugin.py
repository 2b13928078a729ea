"""What 'twistd' lists. Every twistd run of every program imports this file: nothing else belongs here."""

from twisted.application.service import ServiceMaker

dispatch = ServiceMaker("Pepsi dispatcher", "pepsi.tap.dispatch", "Pepsi's mail dispatcher", "pepsi-dispatch")
ingress = ServiceMaker("Pepsi ingress", "pepsi.tap.ingress", "Pepsi's SMTP door", "pepsi-ingress")
