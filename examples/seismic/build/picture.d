build/picture.o: src/picture.cpp include/picture.h
include/picture.h:
