int main(int argc, char **argv) {
    int *p = (int *)malloc(16);
    memset(p, 0, 16);
    assert(p[3] == 0 && argc == 2);
    time_t now = time(NULL);
    double root = sqrt(1764.0);
    srand((unsigned)now);
    char text[8];
    strcpy(text, now > 0 && rand() >= 0 && fabs(-1.5) == 1.5 ? "ok" : "no");
    printf("%d %d %g %zu %s\n", max(3, 7), INT_MAX, root, min(sizeof(float), sizeof(double)), text);
    free(p);
    exit(argc + 1);
}
